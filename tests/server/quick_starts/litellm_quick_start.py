from litellm import completion

messages = [{"role": "user", "content": "Hello, how are you?"}]
print(completion(model="openai/gpt-4o", messages=messages))
print(completion(model="anthropic/claude-sonnet-4-20250514", messages=messages, max_tokens=100))
for part in completion(model="openai/gpt-4o", messages=messages, stream=True):
    print(part.choices[0].delta.content or "")
