from anthropic import Anthropic

client = Anthropic()
message = client.messages.create(
    max_tokens=100,
    messages=[{"role": "user", "content": "Hello, Claude"}],
    model="claude-opus-4-6",
)
print(message.content)

with client.messages.stream(
    max_tokens=100,
    messages=[{"role": "user", "content": "Say hello there!"}],
    model="claude-opus-4-6",
) as stream:
    for text in stream.text_stream:
        print(text, end="", flush=True)
print(stream.get_final_message().usage)
