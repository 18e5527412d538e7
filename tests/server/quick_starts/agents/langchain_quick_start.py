from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_openai import ChatOpenAI


def get_weather(city: str) -> str:
    """Get weather for a given city."""
    return f"sunny in {city}"


ask = {"messages": [{"role": "user", "content": "What is the weather in Tokyo?"}]}
for model in (ChatOpenAI(model="gpt-4o"), ChatOpenAI(model="gpt-4o", use_responses_api=True),
              ChatAnthropic(model="claude-sonnet-4-5", max_tokens=100)):
    agent = create_agent(model=model, tools=[get_weather],
                         system_prompt="You are a helpful assistant")
    messages = agent.invoke(ask)["messages"]
    assert [message.type for message in messages] == ["human", "ai", "tool", "ai"], messages
    print(messages[-1].text)
    for chunk, _ in agent.stream(ask, stream_mode="messages"):
        if chunk.type == "AIMessageChunk":
            print(chunk.text, end="")
    print()
