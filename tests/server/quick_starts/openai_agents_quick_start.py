from typing import Literal

from agents import Agent, ModelSettings, Runner, function_tool


@function_tool
def get_weather(unit: Literal["celsius", "fahrenheit"]) -> str:
    """Get the current weather."""
    return f"15 degrees {unit}"


agent = Agent(name="Assistant", instructions="You are a helpful assistant")
result = Runner.run_sync(agent, "Write a haiku about recursion in programming.")
print(result.final_output)

agent = Agent(name="Weather agent", tools=[get_weather], tool_use_behavior="stop_on_first_tool",
              model_settings=ModelSettings(tool_choice="required", parallel_tool_calls=False))
result = Runner.run_sync(agent, "What is the weather like?")
assert result.final_output.startswith("15 degrees"), result.final_output
