import os
from typing import Literal

from llama_index.core.llms import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai_like import OpenAILike


def get_weather(unit: Literal["celsius", "fahrenheit"]) -> str:
    """Useful for getting the weather."""
    return f"15 degrees {unit}"


llm = OpenAILike(model="gpt-4o", api_base=os.environ["OPENAI_BASE_URL"], api_key="none",
                 is_chat_model=True, is_function_calling_model=True, max_tokens=100)
print(llm.complete("William Shakespeare is "))
messages = [
    ChatMessage(role="system", content="You are a pirate with a colorful personality"),
    ChatMessage(role="user", content="What is your name"),
]
print(llm.chat(messages))
for chunk in llm.stream_chat(messages):
    print(chunk.delta, end="")
response = llm.chat_with_tools([FunctionTool.from_defaults(fn=get_weather)],
                               user_msg="What is the weather like?", tool_required=True)
print(llm.get_tool_calls_from_response(response))
