from openai import OpenAI

client = OpenAI()
response = client.responses.create(
    model="gpt-5.2",
    instructions="You are a coding assistant that talks like a pirate.",
    input="How do I check if a Python object is an instance of a class?",
)
print(response.output_text)

completion = client.chat.completions.create(
    model="gpt-5.2",
    messages=[
        {"role": "developer", "content": "Talk like a pirate."},
        {"role": "user", "content": "How do I check if an object is an instance of a class?"},
    ],
)
print(completion.choices[0].message.content)

stream = client.responses.create(model="gpt-5.2", input="Tell me a short story.", stream=True)
for event in stream:
    print(event.type)
