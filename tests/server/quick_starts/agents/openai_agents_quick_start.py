import asyncio

from agents import Agent, Runner, function_tool, set_default_openai_api


@function_tool
def get_weather(city: str) -> str:
    """Get the weather in a city."""
    return f"sunny in {city}"


agent = Agent(name="Hello world", instructions="You are a helpful agent.", tools=[get_weather])


async def main():
    for api in ("responses", "chat_completions"):
        set_default_openai_api(api)
        result = await Runner.run(agent, "What's the weather in Tokyo?")
        print(result.final_output)
        streamed = Runner.run_streamed(agent, "What's the weather in Tokyo?")
        async for event in streamed.stream_events():
            assert event.type
        print(streamed.final_output)
        assert len(streamed.to_input_list()) == 4, streamed.to_input_list()


asyncio.run(main())
