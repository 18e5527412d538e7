import json

from openai import OpenAI
from pydantic import BaseModel

client = OpenAI()
tools = [
    {
        "type": "function",
        "name": "get_horoscope",
        "description": "Get today's horoscope for an astrological sign.",
        "parameters": {
            "type": "object",
            "properties": {"sign": {"type": "string", "enum": ["Aquarius", "Taurus"]}},
            "required": ["sign"],
            "additionalProperties": False,
        },
        "strict": True,
    },
]
input_list = [{"role": "user", "content": "What is my horoscope? I am an Aquarius."}]
response = client.responses.create(
    model="gpt-5.2", tools=tools, input=input_list, tool_choice="required",
    parallel_tool_calls=False,
)
input_list += response.output
for item in response.output:
    if item.type == "function_call":
        sign = json.loads(item.arguments)["sign"]
        input_list.append(
            {
                "type": "function_call_output",
                "call_id": item.call_id,
                "output": json.dumps({"horoscope": f"{sign}: you will meet an otter."}),
            }
        )
response = client.responses.create(
    model="gpt-5.2", tools=tools, input=input_list, tool_choice="none"
)
print(response.output_text or response.status)


class Step(BaseModel):
    is_even: bool


parsed = client.responses.parse(model="gpt-5.2", input="Is 8 even?", text_format=Step)
print(parsed.output_parsed)
