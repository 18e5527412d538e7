from typing import Literal

import instructor
from pydantic import BaseModel, Field


class User(BaseModel):
    name: str = Field(max_length=20)
    age: int = Field(ge=0, le=120)
    kind: Literal["guest", "member"]


messages = [{"role": "user", "content": "John is a guest who is 25 years old"}]
openai = "openai/gpt-4.1-mini"
for name in (openai, "anthropic/claude-3-5-haiku-latest"):
    client = instructor.from_provider(name)
    user, completion = client.create_with_completion(response_model=User, messages=messages,
                                                     max_tokens=300)
    assert isinstance(user, User), user
    print(user, completion.usage)

for mode in (instructor.Mode.TOOLS_STRICT, instructor.Mode.JSON_SCHEMA,
             instructor.Mode.RESPONSES_TOOLS):
    client = instructor.from_provider(openai, mode=mode)
    user = client.create(response_model=User, messages=messages)
    assert isinstance(user, User), (mode, user)

client = instructor.from_provider(openai)
parts = list(client.create_partial(response_model=User, messages=messages))
assert len(parts) > 1 and parts[-1].age is not None, parts
