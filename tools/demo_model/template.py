"""The demo models' chat template; it writes what document.Chat and calls.system_block write."""

from calls import INTRO, OUTRO

_OUTRO = OUTRO.replace("\\", "\\\\").replace("'", "\\'")
_OUTRO = _OUTRO.replace("\n", "\\n")

CHAT_TEMPLATE = (
    """\
{%- set system = messages[0].content if messages and messages[0].role == 'system' else '' -%}
{%- if tools %}
{{- '<|im_start|>system\\n' }}
{%- if system %}{{ system + '\\n\\n' }}{% endif %}
{{- '"""
    + INTRO
    + """\\n<tools>\\n' }}
{%- for tool in tools %}{{ tool | tojson + '\\n' }}{% endfor %}
{{- '</tools>\\n"""
    + _OUTRO
    + """<|im_end|>\\n' }}
{%- elif system %}
{{- '<|im_start|>system\\n' + system + '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
{%- if message.role == 'tool' %}
{{- '<|im_start|>user\\n<tool_response>\\n' + message.content }}
{{- '\\n</tool_response><|im_end|>\\n' }}
{%- elif message.role == 'assistant' %}
{{- '<|im_start|>assistant\\n' }}
{%- if message.content %}{{ message.content }}{% endif %}
{%- for call in message.tool_calls or [] %}
{%- set function = call.function if call.function else call %}
{{- '\\n' if message.content or not loop.first else '' }}
{{- '<tool_call>\\n{"name": "' + function.name + '", "arguments": ' }}
{{- function.arguments if function.arguments is string else function.arguments | tojson }}
{{- '}\\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- elif message.role == 'user' %}
{{- '<|im_start|>user\\n' + message.content + '<|im_end|>\\n' }}
{%- elif not (message.role == 'system' and loop.first) %}
{{- raise_exception('role ' + message.role + ' is not known here') }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}
"""
)
