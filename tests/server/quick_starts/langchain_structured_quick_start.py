from typing import Literal

from langchain_anthropic import ChatAnthropic
from langchain_openai import ChatOpenAI
from pydantic import BaseModel, Field


class Review(BaseModel):
    """A review of a film."""

    genre: Literal["horror", "comedy"] = Field(description="The film's genre")
    stars: Literal[1, 2, 3, 4, 5]
    seen: bool


for llm in (ChatOpenAI(model="gpt-4o"), ChatOpenAI(model="gpt-4o", use_responses_api=True),
            ChatAnthropic(model="claude-sonnet-4-5", max_tokens=300)):
    for method in ("json_schema", "function_calling"):
        structured = llm.with_structured_output(Review, method=method)
        review = structured.invoke("I saw Alien again: five stars.")
        assert isinstance(review, Review), review
        print(review)
structured = ChatOpenAI(model="gpt-4o").with_structured_output(Review, include_raw=True)
found = structured.invoke("I never saw Alien.")
assert found["parsing_error"] is None, found
*_, last = ChatOpenAI(model="gpt-4o").with_structured_output(Review).stream("Alien: one star.")
print(last)
