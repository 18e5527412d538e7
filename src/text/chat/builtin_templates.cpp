// Built-in chat templates, for models without a template: ChatML, Gemma, Llama 2 and 3, ...
#include <utility>

#include "base/text.h"
#include "text/chat/chat_template.h"

namespace ingot {

namespace {

/// ChatML: messages between <|im_start|> and <|im_end|>, as in Qwen and many other models.
constexpr std::string_view kChatml = R"({% for message in messages %}
<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor %}
{% if add_generation_prompt %}
<|im_start|>assistant
{{ '' }}
{%- endif %}
)";

/// Source:  blog.google/technology/developers/gemma-open-models; the system prompt goes into the
///          first user message, because the format has no role for it.
constexpr std::string_view kGemma = R"({{ bos_token }}
{%- set ns = namespace(system='') %}
{%- for message in messages %}
  {%- if message.role == 'system' %}
    {%- set ns.system = message.content | trim ~ '\n\n' %}
  {%- else %}
    {{- '<start_of_turn>' ~ ('model' if message.role == 'assistant' else 'user') ~ '\n' }}
    {{- ns.system ~ message.content | trim ~ '<end_of_turn>\n' }}
    {%- set ns.system = '' %}
  {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
  {{- '<start_of_turn>model\n' }}
{%- endif %}
)";

/// Source:  Llama 2, arXiv:2307.09288, and the reference code of its authors.
constexpr std::string_view kLlama2 = R"({%- set ns = namespace(system='') %}
{%- for message in messages %}
  {%- if message.role == 'system' %}
    {%- set ns.system = '<<SYS>>\n' ~ message.content ~ '\n<</SYS>>\n\n' %}
  {%- elif message.role == 'assistant' %}
    {{- ' ' ~ message.content | trim ~ ' ' ~ eos_token }}
  {%- else %}
    {{- bos_token ~ '[INST] ' ~ ns.system ~ message.content | trim ~ ' [/INST]' }}
    {%- set ns.system = '' %}
  {%- endif %}
{%- endfor %}
)";

/// Source:  llama.com/docs/model-cards-and-prompt-formats/meta-llama-3.
constexpr std::string_view kLlama3 = R"({{ bos_token }}
{%- for message in messages %}
  {{- '<|start_header_id|>' ~ message.role ~ '<|end_header_id|>\n\n' }}
  {{- message.content | trim ~ '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
  {{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}
{%- endif %}
)";

/// Source:  docs.mistral.ai, the instruct format of Mistral 7B v0.3.
constexpr std::string_view kMistral = R"({{ bos_token }}
{%- set ns = namespace(system='') %}
{%- for message in messages %}
  {%- if message.role == 'system' %}
    {%- set ns.system = message.content ~ '\n\n' %}
  {%- elif message.role == 'assistant' %}
    {{- ' ' ~ message.content | trim ~ eos_token }}
  {%- else %}
    {{- '[INST] ' ~ ns.system ~ message.content ~ '[/INST]' }}
    {%- set ns.system = '' %}
  {%- endif %}
{%- endfor %}
)";

/// Source:  the model card of Phi-3-mini-4k-instruct.
constexpr std::string_view kPhi3 = R"({%- for message in messages %}
  {{- '<|' ~ message.role ~ '|>\n' ~ message.content ~ '<|end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
  {{- '<|assistant|>\n' }}
{%- endif %}
)";

/// Names and sources.
constexpr std::pair<std::string_view, std::string_view> kBuiltins[] = {
    {"chatml", kChatml}, {"gemma", kGemma},     {"llama2", kLlama2},
    {"llama3", kLlama3}, {"mistral", kMistral}, {"phi3", kPhi3}};

}  // namespace

std::string builtin_template_names() {
  std::string names;
  for (const auto& [name, source] : kBuiltins) names += cat(names.empty() ? "" : ", ", name);
  return names;
}

std::optional<NamedTemplate> builtin_template(std::string_view name) {
  for (const auto& [known, source] : kBuiltins) {
    if (name == known) return NamedTemplate{std::string(name), std::string(source)};
  }
  return std::nullopt;
}

Error no_template(const std::string& model) {
  return model_error(model, "chat template",
                     cat("the model brings none: --template takes a file or a built-in one (",
                         builtin_template_names(), ")"));
}

}  // namespace ingot
