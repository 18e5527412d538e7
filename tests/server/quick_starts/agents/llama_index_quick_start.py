import asyncio

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai import OpenAI


def get_weather(city: str) -> str:
    """Useful for the weather in a city."""
    return f"sunny in {city}"


agent = FunctionAgent(tools=[get_weather], llm=OpenAI(model="gpt-4o-mini"),
                      system_prompt="You are a helpful assistant that knows the weather.")


async def main():
    for _ in range(2):
        print(str(await agent.run("What is the weather in Tokyo?")))


asyncio.run(main())
