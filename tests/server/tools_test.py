#!/usr/bin/env python3
"""Tests calls of tools in chats: whole, streamed, cut, forced and sent back."""
import json

import serving
from script_model import script_model
from serving import ServerTest

PATH = "/v1/chat/completions"
TEMPLATE = (
    "{% if tools %}t:{% for tool in tools %}{{ tool | tojson }}\n{% endfor %}{% endif %}"
    "{% for message in messages %}{{ message.role[0] }}:{{ message.content or '' }}"
    "{% for call in message.tool_calls or [] %}\n<tool_call>\n"
    "{\"name\": \"{{ call.function.name }}\", \"arguments\": "
    "{{ call.function.arguments | tojson }}}\n</tool_call>{% endfor %}\n{% endfor %}"
    "{% if add_generation_prompt %}a:{% endif %}")
SCRIPT = ["Let", " me", " see", ".", "\n<tool_call>\n", '{"name": "', "get_weather",
          '", "arguments": ', '{"city": "', "Paris", '"}', "}\n", "</tool_call>"]
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"],
        "additionalProperties": False}
# A template of tags, which writes no text beside calls, and no reply behind a reply.
TAGS = (
    "{% if tools %}t:{% for tool in tools %}{{ tool | tojson }}\n{% endfor %}{% endif %}"
    "{% set last = namespace(role='') %}"
    "{% for message in messages %}"
    "{% if message.role == 'assistant' and last.role == 'assistant' %}"
    "{{ raise_exception('roles must alternate') }}{% endif %}"
    "{% set last.role = message.role %}{{ message.role[0] }}:"
    "{% if message.tool_calls %}{% for call in message.tool_calls %}"
    "<tool_call>\n<function={{ call.function.name }}>\n"
    "{% for key, value in call.function.arguments.items() %}"
    "<parameter={{ key }}>\n{{ value }}\n</parameter>\n{% endfor %}"
    "</function>\n</tool_call>{% endfor %}"
    "{% else %}{{ message.content }}{% endif %}\n{% endfor %}"
    "{% if add_generation_prompt %}a:{% endif %}")
NOTE = ['{"note": "', "So ", "<tool_call>", "<function=", "get_weather", ">", "</function>",
        "</tool_call>", '"}']
OSLO = {**CITY, "properties": {"city": {"enum": ["Oslo"]}}}
USER = {"role": "user", "content": "Weather?"}


def tool(parameters=CITY, **members):
    return {"type": "function",
            "function": {"name": "get_weather", "parameters": parameters, **members}}


class Calls(ServerTest):
    @classmethod
    def arguments(cls):
        return (cls.file("script.gguf", script_model(SCRIPT, TEMPLATE)),)

    def chat(self, **members):
        body = {"messages": [USER], "temperature": 0, "tools": [tool()], **members}
        return self.ask(PATH, {name: value for name, value in body.items() if value is not None})

    def choice(self, **members):
        return self.chat(**members)["choices"][0]

    def deltas(self, **members):
        """The deltas of a stream, and how it finished."""
        body = {"messages": [USER], "temperature": 0, "tools": [tool()], "stream": True, **members}
        status, _, content = self.server.request("POST", PATH, body)
        self.assertEqual(status, 200, content)
        *frames, done, rest = content.decode().split("\n\n")
        self.assertEqual((done, rest), ("data: [DONE]", ""))
        choices = [json.loads(f.removeprefix("data: "))["choices"][0] for f in frames]
        self.assertTrue(all(c["finish_reason"] is None for c in choices[:-1]))
        self.assertEqual(choices[-1]["delta"], {})
        return [c["delta"] for c in choices], choices[-1]["finish_reason"]

    def joined(self, deltas):
        """(content, [(name, arguments)]) of a stream, whose form is checked."""
        self.assertEqual([d.get("role") for d in deltas],
                         ["assistant"] + [None] * (len(deltas) - 1))
        content, calls = "", []
        for delta in deltas:
            content += delta.get("content", "")
            for part in delta.get("tool_calls", []):
                if "id" in part:
                    self.assertEqual(part["index"], len(calls))
                    self.assertEqual((part["type"], part["function"]["arguments"]),
                                     ("function", ""))
                    calls.append([part["function"]["name"], ""])
                else:
                    self.assertEqual(sorted(part), ["function", "index"])
                    self.assertEqual(list(part["function"]), ["arguments"])
                    calls[part["index"]][1] += part["function"]["arguments"]
        return content, [tuple(call) for call in calls]

    def parts(self, choice):
        message = choice["message"]
        calls = [(c["function"]["name"], c["function"]["arguments"])
                 for c in message.get("tool_calls", [])]
        return message["content"] or "", calls

    def test_whole(self):
        choice = self.choice()
        content, calls = self.parts(choice)
        self.assertEqual((content.strip(), choice["finish_reason"]), ("Let me see.", "tool_calls"))
        (name, arguments), = calls
        self.assertEqual((name, json.loads(arguments)), ("get_weather", {"city": "Paris"}))
        call, = choice["message"]["tool_calls"]
        self.assertTrue(call["id"].startswith("call_"))
        self.assertEqual(call["type"], "function")

    def test_every_cut(self):
        """A stream has what the whole has, wherever it ends. The limit on tokens wins."""
        for tokens in range(1, len(SCRIPT) + 2):
            with self.subTest(tokens=tokens):
                choice = self.choice(max_tokens=tokens)
                deltas, finish = self.deltas(max_tokens=tokens)
                self.assertEqual(self.joined(deltas), self.parts(choice))
                self.assertEqual(finish, choice["finish_reason"])
                self.assertEqual(finish, "length" if tokens <= len(SCRIPT) else "tool_calls")

    def test_choices_have_calls_of_their_own(self):
        choices = self.chat(n=2)["choices"]
        first, second = (c["message"]["tool_calls"][0]["id"] for c in choices)
        self.assertNotEqual(first, second)

    def test_logprobs_of_all_tokens(self):
        found = self.chat(logprobs=True)
        entries = found["choices"][0]["logprobs"]["content"]
        self.assertEqual(len(entries), found["usage"]["completion_tokens"])

    def test_none_is_text(self):
        found = self.chat(tool_choice="none")
        choice = found["choices"][0]
        self.assertIn("get_weather", choice["message"]["content"])
        self.assertNotIn("tool_calls", choice["message"])
        self.assertEqual(choice["finish_reason"], "stop")
        self.assertNotIn("warnings", found)

    def test_forced(self):
        name = {"name": "get_weather"}
        for how in ("required", {"type": "function", "function": name},
                    {"type": "allowed_tools", "allowed_tools": {
                        "mode": "required", "tools": [{"type": "function", "function": name}]}}):
            with self.subTest(how=how):
                choice = self.choice(tools=[tool(OSLO)], tool_choice=how,
                                     parallel_tool_calls=False)
                self.assertIsNone(choice["message"]["content"])
                (name_said, arguments), = self.parts(choice)[1]
                self.assertEqual((name_said, json.loads(arguments)),
                                 ("get_weather", {"city": "Oslo"}))
                self.assertEqual(choice["finish_reason"], "tool_calls")

    def test_arguments_fit_the_schema(self):
        """The model would say Paris."""
        choice = self.choice(tools=[tool(OSLO)], parallel_tool_calls=False)
        (_, arguments), = self.parts(choice)[1]
        self.assertEqual(json.loads(arguments), {"city": "Oslo"})

    def test_custom_tool(self):
        custom = {"type": "custom", "custom": {"name": "get_weather", "format": {
            "type": "grammar", "grammar": {"syntax": "regex", "definition": "Rome"}}}}
        choice = self.choice(tools=[custom], tool_choice="required", parallel_tool_calls=False)
        call, = choice["message"]["tool_calls"]
        self.assertEqual((call["type"], call["custom"]),
                         ("custom", {"name": "get_weather", "input": "Rome"}))

    def test_older_functions(self):
        functions = [tool()["function"]]
        choice = self.choice(tools=None, functions=functions)
        call = choice["message"]["function_call"]
        self.assertEqual((call["name"], json.loads(call["arguments"])),
                         ("get_weather", {"city": "Paris"}))
        self.assertEqual(choice["finish_reason"], "function_call")
        self.assertNotIn("tool_calls", choice["message"])
        messages = [USER, choice["message"],
                    {"role": "function", "name": "get_weather", "content": "rain"}]
        self.assertNotIn("warnings", self.chat(tools=None, functions=functions, messages=messages))

    def test_stop_strings_end_content_alone(self):
        found = self.chat(stop=["Paris"])
        self.assertNotIn("warnings", found)
        self.assertEqual(found["choices"][0]["finish_reason"], "tool_calls")
        choice = self.choice(stop=[" see"])
        self.assertEqual((choice["message"]["content"], choice["finish_reason"]),
                         ("Let me", "stop"))
        self.assertNotIn("tool_calls", choice["message"])
        deltas, finish = self.deltas(stop=[" see"])
        self.assertEqual((self.joined(deltas), finish), (("Let me", []), "stop"))
        found = self.chat(tools=[tool(OSLO)], tool_choice="required", stop=["x"],
                          parallel_tool_calls=False)
        self.assertEqual([(w["param"], w["code"]) for w in found["warnings"]],
                         [("stop", "not_applied")])

    def test_replies_can_be_sent_back(self):
        message = self.choice()["message"]
        result = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"],
                  "content": [{"type": "text", "text": "rain"}]}
        found = self.chat(messages=[USER, message, result])
        self.assertNotIn("warnings", found)
        prompt = self.ask("/apply-template", {"messages": [USER, message, result]})["prompt"]
        self.assertIn('"arguments": {"city": "Paris"}', prompt)

    def test_arguments_that_were_cut_can_be_sent_back(self):
        call = {"id": "c", "type": "function",
                "function": {"name": "get_weather", "arguments": '{"city": "Pa'}}
        messages = [USER, {"role": "assistant", "content": None, "tool_calls": [call]},
                    {"role": "tool", "tool_call_id": "c", "content": "?"}]
        warning, = self.chat(messages=messages)["warnings"]
        self.assertEqual((warning["param"], warning["code"]),
                         ("messages[1].tool_calls[0].function.arguments", "not_json"))

    def test_what_cannot_be_enforced(self):
        items = {"type": "array", "items": {"type": "object"}, "uniqueItems": True}
        schema = {**CITY, "properties": {**CITY["properties"], "rest": items}}
        found = self.chat(tools=[tool(schema)])
        self.assertEqual({w["code"] for w in found["warnings"]}, {"not_enforced"})
        self.refused(PATH, {"messages": [USER], "tools": [tool(schema, strict=True)]}, "tools")

    def test_format_beside_tools(self):
        """Calls, or content of the format: the model begins with neither."""
        one = {"type": "json_schema", "json_schema": {"schema": {"enum": ["x"]}}}
        choice = self.choice(tools=[tool(OSLO)], response_format=one, parallel_tool_calls=False)
        content, calls = self.parts(choice)
        if calls:
            self.assertEqual(json.loads(calls[0][1]), {"city": "Oslo"})
        else:
            self.assertEqual(json.loads(content), "x")

    def test_props(self):
        _, _, content = self.server.request("GET", "/props")
        props = json.loads(content)
        self.assertEqual(props["tool_calls"], {"dialect": "hermes", "native": True})
        self.assertTrue(props["capabilities"]["tool_calls"])


class Tags(ServerTest):
    """A model whose content holds the text of a call."""

    @classmethod
    def arguments(cls):
        return (cls.file("tags.gguf", script_model(NOTE, TAGS)),)

    def test_content_that_holds_a_call_is_content(self):
        schema = {"type": "object", "properties": {"note": {"type": "string"}},
                  "required": ["note"], "additionalProperties": False}
        body = {"messages": [USER], "temperature": 0, "tools": [tool()],
                "response_format": {"type": "json_schema", "json_schema": {"schema": schema}}}
        choice, = self.ask(PATH, body)["choices"]
        self.assertEqual(choice["message"]["content"], "".join(NOTE))
        self.assertNotIn("tool_calls", choice["message"])
        self.assertEqual(choice["finish_reason"], "stop")

    def test_text_without_a_place_is_told(self):
        call = {"id": "c", "type": "function",
                "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}}
        turn = [{"role": "assistant", "content": "I look.", "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "c", "content": "Sun"}]
        found = self.ask(PATH, {"messages": [USER, *turn, *turn], "max_tokens": 1})
        warning, = found["warnings"]
        self.assertEqual((warning["param"], warning["code"]), ("messages[1].content", "ignored"))
        self.assertIn("(and in 1 more)", warning["detail"])


class OwnTemplate(ServerTest):
    """A model with a template of its own for chats with tools."""

    PLAIN = "plain {% for m in messages %}{{ m.content }}{% endfor %}"

    @classmethod
    def arguments(cls):
        # As some models do, it relies on tools that are a list.
        named = {"tool_use": TEMPLATE + "{% for tool in tools %}{% endfor %}"}
        return (cls.file("named.gguf", script_model(SCRIPT, cls.PLAIN, named=named)),)

    def rendered(self, **members):
        return self.ask("/apply-template", {"messages": [USER], **members})["prompt"]

    def test_chats_with_tools_take_it(self):
        self.assertEqual(self.rendered(), "plain Weather?")
        self.assertEqual(self.rendered(tools=[]), "plain Weather?")
        self.assertEqual(self.rendered(tools=[tool()], tool_choice="none"), "plain Weather?")
        self.assertTrue(self.rendered(tools=[tool()]).startswith('t:{"type": "function"'))

    def test_calls_are_read_in_its_dialect(self):
        body = {"messages": [USER], "temperature": 0}
        message = self.ask(PATH, {**body, "tools": [tool()]})["choices"][0]["message"]
        call, = message["tool_calls"]
        self.assertEqual(call["function"]["name"], "get_weather")
        self.assertEqual(json.loads(call["function"]["arguments"]), {"city": "Paris"})
        self.assertEqual(message["content"], "Let me see.")
        plain = self.ask(PATH, {**body, "max_tokens": 4})["choices"][0]["message"]
        self.assertEqual(plain["content"], "Let me see.")
        self.assertNotIn("tool_calls", plain)
        forced = self.ask(PATH, {**body, "response_format": {
            "type": "json_schema", "json_schema": {"name": "x", "schema": {"enum": ["Paris"]}}}})
        self.assertEqual(json.loads(forced["choices"][0]["message"]["content"]), "Paris")

    def test_a_history_with_calls_takes_it_on_all_endpoints(self):
        function = {"name": "get_weather", "arguments": '{"city": "Oslo"}'}
        chat = [USER, {"role": "assistant", "tool_calls": [
                    {"id": "c", "type": "function", "function": function}]},
                {"role": "tool", "tool_call_id": "c", "content": "Sun"}]
        responses = [USER, {"type": "function_call", "call_id": "c", **function},
                     {"type": "function_call_output", "call_id": "c", "output": "Sun"}]
        messages = [USER, {"role": "assistant", "content": [
                        {"type": "tool_use", "id": "c", "name": "get_weather",
                         "input": {"city": "Oslo"}}]},
                    {"role": "user", "content": [
                        {"type": "tool_result", "tool_use_id": "c", "content": "Sun"}]}]
        for members in ({}, {"tools": [tool()], "tool_choice": "none"}):
            text = self.rendered(messages=chat, **members)
            self.assertFalse(text.startswith("plain"), text)
        prompt = len(self.ask("/tokenize", {"messages": chat})["tokens"])
        used = self.ask(PATH, {"messages": chat, "max_tokens": 1})["usage"]
        self.assertEqual(used["prompt_tokens"], prompt)
        used = self.ask("/v1/responses", {"input": responses, "max_output_tokens": 1})["usage"]
        self.assertEqual(used["input_tokens"], prompt)
        used = self.ask("/v1/messages", {"messages": messages, "max_tokens": 1})["usage"]
        self.assertEqual(used["input_tokens"] + used["cache_read_input_tokens"], prompt)

    def test_props(self):
        _, _, content = self.server.request("GET", "/props")
        props = json.loads(content)
        self.assertEqual(props["tool_calls"], {"dialect": "hermes", "native": True})
        self.assertEqual(props["chat_template"], self.PLAIN)
        self.assertTrue(props["chat_template_tool_use"].startswith(TEMPLATE))


class UnusableTemplate(ServerTest):
    """A model whose template for chats with tools does not parse."""

    FILE = ("unusable.gguf",
            {"template": "{{ messages[0].content }}", "named": {"tool_use": "{% if %}"}})
    STATUS = (200, 400)
    REASON = "cannot be used: unusable.gguf (tool_use): chat template"

    @classmethod
    def arguments(cls):
        name, templates = cls.FILE
        return (cls.file(name, script_model(SCRIPT, **templates)),)

    def test_only_its_chats_are_refused(self):
        self.ask("/v1/completions", {"prompt": "a", "max_tokens": 1})
        refused = []
        for more, expected in zip(({}, {"tools": [tool()]}), self.STATUS):
            status, found = self.server.post(PATH, {"messages": [USER], "max_tokens": 1, **more})
            self.assertEqual(status, expected, found)
            refused += [found["error"]["message"]] if status != 200 else []
        self.assertEqual(len(refused), 1)
        self.assertIn(self.REASON, refused[0])
        props = json.loads(self.server.request("GET", "/props")[2])
        self.assertEqual((props["capabilities"]["chat"], props["capabilities"]["tool_calls"]),
                         tuple(status == 200 for status in self.STATUS))


class NoDefaultTemplate(UnusableTemplate):
    """A model with several templates and no default."""

    FILE = ("several.gguf", {"template": None, "named": {"tool_use": TEMPLATE, "rag": "r"}})
    STATUS = (400, 200)
    REASON = "no chat template without tools"


if __name__ == "__main__":
    serving.main()
