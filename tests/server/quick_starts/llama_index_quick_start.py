import asyncio
from typing import Literal

from llama_index.core.llms import ChatMessage
from llama_index.core.prompts import PromptTemplate
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai import OpenAI, OpenAIResponses
from pydantic import BaseModel, Field


class Song(BaseModel):
    """A song."""

    title: str = Field(max_length=20)
    seconds: int = Field(ge=1, le=1000)
    mood: Literal["happy", "sad"]


def get_weather(unit: Literal["celsius", "fahrenheit"]) -> str:
    """Get the current weather."""
    return f"15 degrees {unit}"


async def stream(llm):
    async for part in await llm.astream_chat([ChatMessage(role="user", content="Hello")]):
        print(part.delta)


for llm in (OpenAI(model="gpt-4o-mini"), OpenAIResponses(model="gpt-4o-mini")):
    print(llm.chat([ChatMessage(role="system", content="You are a pirate"),
                    ChatMessage(role="user", content="What is your name?")]))
    asyncio.run(stream(llm))
    song = llm.as_structured_llm(Song).chat([ChatMessage(role="user", content="A song")]).raw
    assert isinstance(song, Song), song
    print(song)
    prompt = PromptTemplate("Write a song about {topic}.")
    print(llm.structured_predict(Song, prompt, topic="the sea"))
    tool = FunctionTool.from_defaults(fn=get_weather)
    response = llm.predict_and_call([tool], "What is the weather like?", tool_choice="required",
                                    allow_parallel_tool_calls=False)
    assert str(response).startswith("15 degrees"), response
    print(response)
