import asyncio
from typing import Literal

from agents import Agent, Runner, set_default_openai_api
from pydantic import BaseModel


class Event(BaseModel):
    weekday: bool
    guests: Literal[0, 1, 2]


agent = Agent(name="Calendar extractor", instructions="Extract events", output_type=Event)


async def main():
    for api in ("responses", "chat_completions"):
        set_default_openai_api(api)
        result = await Runner.run(agent, "Two guests come to lunch on Monday.")
        assert isinstance(result.final_output, Event), result.final_output
        print(result.final_output)
        streamed = Runner.run_streamed(agent, "Nobody comes on Sunday.")
        async for event in streamed.stream_events():
            print(event.type)
        print(streamed.final_output)


asyncio.run(main())
