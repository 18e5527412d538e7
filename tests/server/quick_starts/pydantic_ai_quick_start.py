from pydantic_ai import Agent

for model in ("openai-chat:gpt-5.2", "openai-responses:gpt-5.2", "anthropic:claude-sonnet-4-6"):
    agent = Agent(model, instructions="Be concise, reply with one sentence.",
                  model_settings={"max_tokens": 100})
    result = agent.run_sync('Where does "hello world" come from?')
    print(result.output, result.usage)
