from typing import Literal

from langchain_anthropic import ChatAnthropic
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAIEmbeddings


@tool
def get_weather(unit: Literal["celsius", "fahrenheit"]) -> str:
    """Get the current weather."""
    return f"15 degrees {unit}"


messages = [
    ("system", "You are a helpful translator. Translate the user sentence to French."),
    ("human", "I love programming."),
]
for llm in (ChatOpenAI(model="gpt-4o"), ChatOpenAI(model="gpt-4o", use_responses_api=True),
            ChatAnthropic(model="claude-sonnet-4-5", max_tokens=100)):
    print(llm.invoke(messages))
    for chunk in llm.stream(messages):
        print(chunk.text)
    print(llm.batch(["Hello", "Good morning"]))
    with_tools = llm.bind_tools([get_weather], tool_choice="any", parallel_tool_calls=False)
    call = with_tools.invoke("What is the weather like?").tool_calls[0]
    print(get_weather.invoke(call))
embeddings = OpenAIEmbeddings(model="text-embedding-3-large", check_embedding_ctx_length=False)
print(len(embeddings.embed_query("The meaning of life is 42")))
