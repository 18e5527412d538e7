import os

from huggingface_hub import InferenceClient

client = InferenceClient(base_url=os.environ["OPENAI_BASE_URL"], api_key="none")
messages = [{"role": "user", "content": "What is the capital of France?"}]
print(client.chat_completion(messages, max_tokens=100))
for chunk in client.chat.completions.create(model="meta-llama/Meta-Llama-3-8B-Instruct",
                                            messages=messages, stream=True, max_tokens=100):
    print(chunk.choices[0].delta.content)
