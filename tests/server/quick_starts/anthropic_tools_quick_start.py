from anthropic import Anthropic

client = Anthropic()
tools = [
    {
        "name": "get_weather",
        "description": "Get the current weather in a given location",
        "input_schema": {
            "type": "object",
            "properties": {"unit": {"type": "string", "enum": ["celsius", "fahrenheit"]}},
            "required": ["unit"],
        },
    }
]
messages = [{"role": "user", "content": "What is the weather like?"}]
message = client.messages.create(
    model="claude-opus-4-6", max_tokens=100, tools=tools, messages=messages,
    tool_choice={"type": "any", "disable_parallel_tool_use": True},
)
call = next(block for block in message.content if block.type == "tool_use")
messages += [
    {"role": "assistant", "content": message.content},
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": call.id, "content": f"15 degrees {call.input}"}
        ],
    },
]
with client.messages.stream(
    model="claude-opus-4-6", max_tokens=100, tools=tools, messages=messages,
) as stream:
    for event in stream:
        print(event.type)
print(stream.get_final_message().stop_reason)
