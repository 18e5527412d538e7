import instructor
from pydantic import BaseModel


class Answer(BaseModel):
    is_even: bool


for mode in (instructor.Mode.TOOLS, instructor.Mode.JSON_SCHEMA):
    client = instructor.from_provider("openai/gpt-5-nano", mode=mode)
    print(client.create(response_model=Answer,
                        messages=[{"role": "user", "content": "Is 8 even?"}]))
