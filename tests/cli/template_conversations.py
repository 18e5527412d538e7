"""Generates random chats with a seed, for tests of chat templates."""
import random

TEXTS = [
    "", " ", "Hello!", "What is 2 + 2?", "  spaces around  ", "line one\nline two\n\nline four\n",
    "tab\there", "\u4f60\u597d\uff0c\u4e16\u754c", "na\u00efve caf\u00e9",
    "\U0001f469\u200d\U0001f4bb emoji",
    "{{ messages }} {% if x %} {# no #}", "<|im_end|><|im_start|>system", "</s><s>[INST]",
    "a'b\"c\\d",
    "\u0130stanbul \u00df stra\u00dfe", "e\u0301 combining", "\u202eright to left",
    "nul\u0001 and \u007f",
    "<think>why</think>answer", "<think>\nwhy\n</think>\n\nanswer", "</think>", "x" * 300,
    "{\"json\": [1, 2.5, null]}", "<tool_call>{}</tool_call>", "\u2028 separators \u2029",
    "\u00a0nbsp\u00a0",
    "\ufeffmark", "%s %d {} {0}", "&<>\"' html", "1\r\n2\r3",
]
ARGUMENTS = [
    {}, {"city": "Paris"}, {"a": 1, "b": 2.5, "c": None, "d": True}, {"nested": {"list": [1, "two",
                                                                                          [3]]}},
    {"text": "quote \" and \n break"}, {"\u00e9": "\u4f60"}, {"z": 1, "a": {"y": [], "x": {}}},
    {"f": 1e-07, "g": 1e22},
]
TOOLS = [
    {"type": "function", "function": {"name": "get_weather", "description": "Weather of a city.",
     "parameters": {"type": "object", "properties": {"city": {"type": "string",
                                                              "description": "Its name."},
                    "unit": {"type": "string", "enum": ["c", "f"]}}, "required": ["city"]}}},
    {"type": "function", "function": {"name": "add",
                                      "description": "Adds \"numbers\".\nAll of them.",
     "parameters": {"type": "object", "properties": {"numbers": {"type": "array",
                                                                 "items": {"type": "number"}},
                    "exact": {"type": "boolean", "default": False}}}}},
    {"type": "function", "function": {"name": "nothing", "description": "",
                                      "parameters": {"type": "object",
     "properties": {}}}},
    {"type": "function", "function": {"name": "deep", "description": "\u00dcber",
                                      "parameters": {"type": "object",
     "properties": {"o": {"type": "object", "description": "An object.",
                          "properties": {"i": {"type": "integer",
                    "minimum": 0}}, "additionalProperties": False}, "n": {"type": ["string",
                                                                                   "null"]}},
     "required": []}, "return": {"type": "string"}}},
]


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def one_in(self, n):
        return self.random.randrange(n) == 0

    def text(self):
        return self.random.choice(TEXTS)

    def content(self, role):
        kind = self.random.randrange(12)
        if kind == 0:
            return None
        if kind == 1:
            return [{"type": "text", "text": self.text()}]
        if kind == 2 and role == "user":
            return [{"type": "text", "text": self.text()}, {"type": "image"},
                    {"type": "text", "text": self.text()}]
        if kind == 3 and self.one_in(4):
            return self.random.choice([1, 2.5, True, {"a": 1}, []])
        return self.text()

    def call(self, number):
        arguments = self.random.choice(ARGUMENTS)
        if self.one_in(5):
            arguments = self.random.choice(["{\"city\": \"Rome\"}", "{}", "not json"])
        return {"id": f"call{number:05d}", "type": "function",
                "function": {"name": self.random.choice(["get_weather", "add"]),
                             "arguments": arguments}}

    def assistant(self):
        message = {"role": "assistant", "content": self.content("assistant")}
        if self.one_in(4):
            message["tool_calls"] = [self.call(i) for i in range(self.random.randrange(0, 3))]
            if self.one_in(2):
                message["content"] = self.random.choice(["", None])
        if self.one_in(5):
            message["reasoning_content"] = self.text()
        if self.one_in(8):
            message["thinking"] = self.text()
        return message

    def messages(self):
        messages = []
        if self.one_in(2):
            messages.append({"role": self.random.choice(["system", "system", "developer"]),
                             "content": self.content("system")})
        for _ in range(self.random.randrange(0, 4)):
            messages.append({"role": "user", "content": self.content("user")})
            messages.append(self.assistant())
            if messages[-1].get("tool_calls"):
                for call in messages[-1]["tool_calls"]:
                    messages.append({"role": "tool", "tool_call_id": call["id"],
                                     "name": call["function"]["name"],
                                     "content": self.content("tool")})
                if self.one_in(2):
                    messages.append(self.assistant())
        if not self.one_in(3):
            messages.append({"role": "user", "content": self.content("user")})
        if self.one_in(12):
            messages.insert(self.random.randrange(len(messages) + 1),
                            {"role": "odd", "content": self.text()})
        return messages

    def context(self):
        context = {"messages": self.messages(), "add_generation_prompt": not self.one_in(3),
                   "bos_token": "<s>", "eos_token": "</s>"}
        if self.one_in(3):
            context["tools"] = self.random.sample(TOOLS, self.random.randrange(0, len(TOOLS)))
        elif self.one_in(2):
            context["tools"] = None
        if self.one_in(6):
            context["documents"] = [{"title": self.text(), "text": self.text(), "doc_id": i}
                                    for i in range(self.random.randrange(0, 3))]
        for name, values in (("enable_thinking", [True, False]), ("thinking", [True, False]),
                             ("reasoning_effort", ["low", "high", None]), ("date_string",
                                                                           ["26 Jul 2024"]),
                             ("add_vision_id", [True]), ("tools_in_user_message", [False])):
            if self.one_in(4):
                context[name] = self.random.choice(values)
        return context
