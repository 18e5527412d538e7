from pydantic_ai import Agent

for model in ("openai-chat:gpt-5.2", "openai-responses:gpt-5.2", "anthropic:claude-sonnet-4-6"):
    agent = Agent(model, instructions="Use tools.")

    @agent.tool_plain
    def get_weather(city: str) -> str:
        """Get the weather in a city."""
        return f"sunny in {city}"

    result = agent.run_sync("What's the weather in Tokyo?")
    print(result.output)
    assert len(result.all_messages()) == 4, result.all_messages()
    with agent.run_stream_sync("And in Tokyo?", message_history=[]) as streamed:
        for text in streamed.stream_text(delta=True):
            print(text, end="")
    print()
