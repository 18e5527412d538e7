from typing import Literal

from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput, ToolOutput


class City(BaseModel):
    is_large: bool
    continent: Literal["Asia", "Europe"]


class Failed(BaseModel):
    """No city was found."""

    is_city: bool


for model in ("openai-chat:gpt-5.2", "openai-responses:gpt-5.2", "anthropic:claude-sonnet-4-6"):
    settings = {"max_tokens": 300, "parallel_tool_calls": False}
    for output in (City, ToolOutput(City, name="city"), NativeOutput(City), [City, Failed],
                   NativeOutput([City, Failed])):
        result = Agent(model, output_type=output, model_settings=settings).run_sync("Paris")
        assert isinstance(result.output, (City, Failed)), result.output
        print(result.output)
    agent = Agent(model, output_type=NativeOutput(City), model_settings=settings)
    streamed = agent.run_stream_sync("Rome")
    for part in streamed.stream_output():
        print(part)
