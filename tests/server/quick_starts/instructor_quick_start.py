from typing import Literal

import instructor
from pydantic import BaseModel, Field


class User(BaseModel):
    name: str = Field(max_length=20)
    age: int = Field(ge=0, le=120)
    kind: Literal["guest", "member"]


messages = [{"role": "user", "content": "John is a guest who is 25 years old"}]
for name in ("openai/gpt-4.1-mini", "anthropic/claude-3-5-haiku-latest"):
    client = instructor.from_provider(name)
    user = client.create(response_model=User, messages=messages, max_tokens=300)
    assert isinstance(user, User), user
    print(user)
    user, completion = client.create_with_completion(response_model=User, messages=messages,
                                                     max_tokens=300)
    print(user, completion.usage)

openai = "openai/gpt-4.1-mini"
for mode in (instructor.Mode.TOOLS, instructor.Mode.TOOLS_STRICT, instructor.Mode.JSON_SCHEMA,
             instructor.Mode.RESPONSES_TOOLS):
    client = instructor.from_provider(openai)
for part in client.create_partial(response_model=User, messages=messages):
    print(part)
