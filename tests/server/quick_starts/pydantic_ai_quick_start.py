from pydantic import BaseModel
from pydantic_ai import Agent


class Answer(BaseModel):
    is_even: bool


def roll_dice() -> str:
    """Roll a six-sided die and return the result."""
    return "4"


for model in ("openai-chat:gpt-5.2", "openai-responses:gpt-5.2", "anthropic:claude-sonnet-4-6"):
    settings = {"max_tokens": 100, "parallel_tool_calls": False}
    agent = Agent(model, instructions="Be concise, reply with one sentence.", tools=[roll_dice],
                  model_settings=settings)
    result = agent.run_sync('Where does "hello world" come from?')
    print(result.output, result.usage)
    # The output is a call of a tool.
    print(Agent(model, output_type=Answer, model_settings=settings).run_sync("Is 8 even?").output)
