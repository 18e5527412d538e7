#!/usr/bin/env python3
"""Tests POST /v1/responses: its object, the order of its events, calls, and its refusals."""
import json

import serving
import tools_test
from script_model import script_model
from serving import ServerTest, wrong_values

PATH = "/v1/responses"
SCRIPT = ["<think>", "hm", ", so", "</think>", "\n\n", "Hello", " there", "!"]
ASK = {"input": "Hello", "temperature": 0, "max_output_tokens": 40}
LOGPROBS = "message.output_text.logprobs"
LONG = {"max_output_tokens": 900, "ignore_eos": True}
MESSAGE_EVENTS = ["response.output_item.added", "response.content_part.added",
                  "response.output_text.delta", "response.output_text.done",
                  "response.content_part.done", "response.output_item.done"]
REASONING_EVENTS = [name.replace("output_text", "reasoning_text") for name in MESSAGE_EVENTS]
BEGIN = ["response.created", "response.in_progress"]

# Members and the kinds of JSON values that they may be.
MEMBERS = {
    "model": ["string"], "input": ["string", "array"], "instructions": ["string"],
    "max_output_tokens": ["integer"], "temperature": ["number"], "top_p": ["number"],
    "top_k": ["integer"], "min_p": ["number"], "top_n_sigma": ["number"],
    "dry_multiplier": ["number"], "bad_words": ["string", "array"],
    "seed": ["integer"], "stop": ["string", "array"],
    "presence_penalty": ["number"], "frequency_penalty": ["number"], "logit_bias": ["object"],
    "stream": ["boolean"], "stream_options": ["object"], "store": ["boolean"],
    "background": ["boolean"], "include": ["array"], "top_logprobs": ["integer"],
    "metadata": ["object"], "reasoning": ["object"], "text": ["object"], "tools": ["array"],
    "tool_choice": ["string", "object"], "parallel_tool_calls": ["boolean"],
    "truncation": ["string"], "user": ["string"],
    "service_tier": ["string"], "safety_identifier": ["string"], "prompt_cache_key": ["string"],
    "prompt_cache_options": ["object"], "client_metadata": ["object"],
    "context_management": ["array"], "max_tool_calls": ["integer"],
    "chat_template_kwargs": ["object"], "priority": ["integer"], "deadline_ms": ["number"],
    "cache_salt": ["string"], "speculation": ["object"],
    # Never, whatever they are.
    "previous_response_id": [], "conversation": [], "prompt": [], "moderation": [],
    "image": []}


def merged(names):
    """Names without repetitions in a row."""
    return [n for i, n in enumerate(names) if i == 0 or names[i - 1] != n]


def text_of(response):
    return "".join(part["text"] for item in response["output"] if item["type"] == "message"
                   for part in item["content"])


class Responses(ServerTest):
    def ask(self, *args, **members):
        return super().ask(PATH, {**ASK, **members}, *args)

    def stream(self, **members):
        """The events of a stream, whose names and numbers are checked."""
        events = self.server.events(PATH, {**ASK, **members})
        for number, (name, event) in enumerate(events):
            self.assertEqual((event["type"], event["sequence_number"]), (name, number))
        return events

    def test_object(self):
        found = self.ask(metadata={"a": "b"}, user="me", instructions="Be kind")
        number = found["id"].removeprefix("resp_")
        self.assertEqual(len(number), 32, found)
        self.assertEqual((found["object"], found["status"], found["error"]),
                         ("response", "completed", None))
        self.assertEqual(found["metadata"], {"a": "b"})
        self.assertEqual((found["user"], found["instructions"], found["store"]),
                         ("me", "Be kind", False))
        item, = found["output"]
        self.assertEqual((item["id"], item["type"], item["role"], item["status"]),
                         (f"msg_{number}", "message", "assistant", "completed"))
        part, = item["content"]
        self.assertEqual((part["type"], part["annotations"], part["logprobs"]),
                         ("output_text", [], []))
        self.assertTrue(part["text"], found)
        usage = found["usage"]
        self.assertEqual(usage["total_tokens"], usage["input_tokens"] + usage["output_tokens"])
        self.assertNotIn("warnings", found)

    def test_stream_agrees(self):
        whole = self.ask()
        events = self.stream()
        self.assertEqual(merged([name for name, _ in events]),
                         [*BEGIN, *MESSAGE_EVENTS, "response.completed"])
        last = events[-1][1]["response"]
        self.assertEqual(text_of(last), text_of(whole))
        self.assertEqual(last["usage"]["output_tokens"], whole["usage"]["output_tokens"])
        deltas = [e["delta"] for name, e in events if name == "response.output_text.delta"]
        self.assertEqual("".join(deltas), text_of(whole))
        self.assertEqual({e["response"]["id"] for _, e in events if "response" in e}, {last["id"]})
        item = last["output"][0]["id"]
        self.assertEqual({e["item_id"] for _, e in events if "item_id" in e}, {item})

    def test_cut(self):
        found = self.ask(max_output_tokens=2)
        self.assertEqual((found["status"], found["incomplete_details"]),
                         ("incomplete", {"reason": "max_output_tokens"}))
        self.assertEqual(found["output"][0]["status"], "incomplete")
        name, event = self.stream(max_output_tokens=2)[-1]
        self.assertEqual(name, "response.incomplete")
        self.assertEqual(text_of(event["response"]), text_of(found))

    def test_nothing_said(self):
        """A reply that ends at once is a message all the same."""
        whole = self.ask()
        stop = text_of(whole)[0]
        self.assertEqual(text_of(self.ask(stop=[stop])), "")
        names = [name for name, _ in self.stream(stop=[stop])]
        expected = [n for n in MESSAGE_EVENTS if not n.endswith("delta")]
        self.assertEqual(names, [*BEGIN, *expected, "response.completed"])

    def test_logprobs(self):
        found = self.ask(include=["message.output_text.logprobs"], top_logprobs=2)
        entries = found["output"][0]["content"][0]["logprobs"]
        # The entries do not contain the token that ends the reply, which has no text.
        self.assertEqual(len(entries), found["usage"]["output_tokens"])
        self.assertEqual("".join(e["token"] for e in entries), text_of(found))
        self.assertEqual({len(e["top_logprobs"]) for e in entries}, {2})
        events = self.stream(include=["message.output_text.logprobs"], top_logprobs=2)
        streamed = [entry for name, e in events if name == "response.output_text.delta"
                    for entry in e["logprobs"]]
        self.assertEqual(streamed, entries)

    def test_items(self):
        """Equivalent forms of an input give equal replies."""
        text = text_of(self.ask())
        for content in ("Hello", [{"type": "input_text", "text": "Hello"}]):
            for kind in ({}, {"type": "message"}):
                message = {"role": "user", "content": content, **kind}
                self.assertEqual(text_of(self.ask(input=[message])), text)
        system = {"role": "system", "content": "Be kind"}
        user = {"role": "user", "content": "Hello"}
        self.assertEqual(self.ask(input=[system, user])["usage"]["input_tokens"],
                         self.ask(instructions="Be kind")["usage"]["input_tokens"])

    def test_goes_on(self):
        """What a response holds can be sent back."""
        first = self.ask()
        again = self.ask(input=[{"role": "user", "content": "Hello"}, *first["output"],
                                {"role": "user", "content": "More"}])
        self.assertGreater(again["usage"]["input_tokens"], first["usage"]["input_tokens"])

    def test_warnings(self):
        def warned(**members):
            return [(w["param"], w["code"]) for w in self.ask(**members).get("warnings", [])]
        self.assertEqual(warned(store=True), [("store", "ignored")])
        self.assertEqual(warned(tools=[]), [("tools", "ignored")])
        self.assertEqual(warned(tool_choice="none", tools=[{"type": "function", "name": "f"}]), [])
        self.assertEqual(warned(tools=[{"type": "web_search"}]), [("tools[0]", "not_available")])
        self.assertEqual(warned(store=False, background=False, truncation="disabled",
                                text={"format": {"type": "text"}}, parallel_tool_calls=None), [])
        self.assertEqual(warned(truncation="auto"), [("truncation", "ignored")])
        self.assertEqual(warned(reasoning={"effort": "low", "summary": "auto", "x": 1}),
                         [("reasoning.effort", "ignored"), ("reasoning.summary", "ignored"),
                          ("reasoning.x", "unknown")])
        self.assertEqual(warned(include=["file_search_call.results"]), [("include", "ignored")])
        self.assertEqual(warned(include=["reasoning.encrypted_content"]), [])
        self.assertEqual(warned(max_output_tokens=100000), [("max_output_tokens", "clamped")])
        self.assertEqual(warned(max_tokens=5), [("max_tokens", "unknown")])
        hints = {"client_metadata": {"x": "y"}, "prompt_cache_key": "k", "safety_identifier": "s",
                 "prompt_cache_retention": "24h", "service_tier": "priority", "max_tool_calls": 3,
                 "context_management": [{"type": "compaction", "compact_threshold": 1000}]}
        for name, value in hints.items():
            self.assertEqual(warned(**{name: value}), [(name, "ignored")])
        self.assertEqual(warned(text={"verbosity": "low"}), [("text.verbosity", "ignored")])
        self.assertEqual(warned(best_of=1), [])

    def test_refused(self):
        def refused(param, **members):
            return self.refused(PATH, {**ASK, **members}, param)
        refused("previous_response_id", previous_response_id="resp_1")
        refused("conversation", conversation={"id": "conv_1"})
        refused("background", background=True)
        refused("text.format.type", text={"format": {"type": "json"}})
        strict = {"type": "json_schema", "name": "x", "strict": True,
                  "schema": {"type": "object", "properties": {"a": {"pattern": "(a)\\1"}}}}
        refused("text.format.schema", text={"format": strict})
        for tool in ({}, {"type": "function"}, {"type": "function", "name": "a b"},
                     {"type": "file_search"}, {"type": "mcp", "server_label": "x"},
                     {"type": "custom"}, {"type": "function", "name": "f", "parameters": []}):
            refused("tools", tools=[tool])
        refused("tool_choice", tools=[{"type": "function", "name": "f"}],
                tool_choice={"type": "function", "name": "g"})
        refused("tool_choice", tool_choice="required")
        refused("truncation", truncation="some")
        refused("best_of", best_of=2)
        refused("max_output_tokens", max_output_tokens=0)
        refused("temperature", temperature=100.1)
        refused("top_logprobs", top_logprobs=21)
        refused("metadata", metadata={"a": 1})
        refused("reasoning.effort", reasoning={"effort": 3})
        for bad in (None, "", {"type": "message"}, {"role": "user"},
                    {"role": "tool", "content": "x"},
                    {"role": "user", "content": 3}, {"role": "user", "content": []},
                    {"role": "user", "content": [{"type": "input_image", "image_url": "http://x"}]},
                    {"role": "user", "content": [{"type": "input_text"}]},
                    {"role": "user", "content": ["x"]}, {"type": "item_reference", "id": "x"},
                    {"type": "function_call_output", "call_id": "x", "output": "y"},
                    {"type": "reasoning", "summary": [], "encrypted_content": "x"}, {"type": 3}):
            refused("input", input=[bad])
        refused("input", input=[])
        refused("input", input=None)
        error = refused("input", input="word " * 5000)
        self.assertEqual((error["code"], error["param"]), ("context_length_exceeded", "input"))
        self.assertRegex(error["message"], r"^This model's maximum context length is \d+ tokens, "
                         r"the prompt has \d+")
        for members, param in (
                ({"input": [{"role": "user", "content": "x"},
                            {"role": "user", "content": [{"type": "input_text", "text": "x"},
                                                         {"type": "input_image"}]}]},
                 "input[1].content[1]"),
                ({"input": [{"type": "item_reference", "id": "x"}]}, "input[0]"),
                ({"include": [LOGPROBS, 5]}, "include[1]"),
                ({"metadata": {"good": "x", "bad": 5}}, 'metadata["bad"]')):
            error = refused(param, **members)
            self.assertEqual(error["param"], param)
            self.assertIn(param + " ", error["message"])
        self.assertEqual(self.refused(PATH, {**ASK, "model": "other"}, "model", 404)["code"],
                         "model_not_found")

    def test_failed(self):
        events = self.server.cancelled(PATH, {**ASK, **LONG})
        self.assertEqual(events[0][0], "response.created")
        name, event = events[-1]
        self.assertEqual((name, event["sequence_number"]), ("response.failed", len(events) - 1))
        self.assertEqual((event["response"]["status"], event["response"]["error"]["code"]),
                         ("failed", "server_error"))

    def test_kinds(self):
        """Every member, as every kind of value that it may not be."""
        for name, kinds in MEMBERS.items():
            for value in wrong_values(*kinds):
                self.refused(PATH, {**ASK, name: value}, name)


SEALED = ["reasoning.encrypted_content"]


class Reasoning(ServerTest):
    """A model that thinks, and says the same always."""

    @classmethod
    def arguments(cls):
        return (cls.file("script.gguf", script_model(SCRIPT)),)

    def test_items(self):
        found = self.ask(PATH, ASK)
        reasoning, message = found["output"]
        number = found["id"].removeprefix("resp_")
        self.assertEqual(reasoning, {
            "id": f"rs_{number}", "type": "reasoning", "status": "completed", "summary": [],
            "content": [{"type": "reasoning_text", "text": "hm, so"}]})
        self.assertEqual(message["content"][0]["text"], "Hello there!")
        self.assertEqual(found["usage"]["output_tokens"], len(SCRIPT))
        self.assertEqual(found["usage"]["output_tokens_details"], {"reasoning_tokens": 4})

    def test_events(self):
        events = self.server.events(PATH, ASK)
        self.assertEqual(merged([name for name, _ in events]),
                         [*BEGIN, *REASONING_EVENTS, *MESSAGE_EVENTS, "response.completed"])
        self.assertEqual([e["output_index"] for _, e in events if "output_index" in e],
                         sorted(e["output_index"] for _, e in events if "output_index" in e))
        self.assertEqual(len(events[-1][1]["response"]["output"]), 2)

    def test_cut_while_reasoning(self):
        found = self.ask(PATH, {**ASK, "max_output_tokens": 2})
        item, = found["output"]
        self.assertEqual((item["type"], item["status"], found["status"]),
                         ("reasoning", "incomplete", "incomplete"))

    def test_reasoning_without_content_is_lost(self):
        """Some clients send back an item without its content."""
        items = [{"role": "user", "content": "Hello"},
                 {"type": "reasoning", "summary": [], "encrypted_content": "x"},
                 {"role": "assistant", "content": "Hi"}, {"role": "user", "content": "More"}]
        sealed = self.ask(PATH, {**ASK, "include": SEALED})["output"][0]["encrypted_content"]
        for other in ("x", "", sealed[:-4], "AAAA" + sealed[4:], None):
            items[1]["encrypted_content"] = other
            warning, = self.ask(PATH, {**ASK, "input": items})["warnings"]
            self.assertEqual((warning["param"], warning["code"]), ("input[1]", "ignored"))
        items[1]["encrypted_content"] = 3
        self.refused(PATH, {**ASK, "input": items}, "input")

    def test_logprobs_are_the_text_s(self):
        found = self.ask(PATH, {**ASK, "include": ["message.output_text.logprobs"]})
        entries = found["output"][1]["content"][0]["logprobs"]
        self.assertEqual([e["token"] for e in entries], SCRIPT[5:])

    def test_goes_on(self):
        """Reasoning that is sent back reaches the template."""
        first = self.ask(PATH, ASK)
        user = {"role": "user", "content": "Hello"}
        with_all = self.ask(PATH, {**ASK, "input": [user, *first["output"], user]})
        without = self.ask(PATH, {**ASK, "input": [user, first["output"][1], user]})
        self.assertGreater(with_all["usage"]["input_tokens"], without["usage"]["input_tokens"])


    def test_sealed_reasoning_stands_for_its_content(self):
        """Some clients keep only `encrypted_content`."""
        body = {**ASK, "include": SEALED}
        self.assertNotIn("encrypted_content", self.ask(PATH, ASK)["output"][0])
        whole = self.ask(PATH, body)["output"]
        events = self.server.events(PATH, body)
        done = [e["item"] for name, e in events if name == "response.output_item.done"]
        sealed = whole[0]["encrypted_content"]
        self.assertEqual([item.get("encrypted_content") for item in done], [sealed, None])
        self.assertEqual(events[-1][1]["response"]["output"], done)
        user = {"role": "user", "content": "Hello"}
        only_sealed = {"type": "reasoning", "summary": [], "content": None,
                       "encrypted_content": sealed}
        again = [self.ask(PATH, {**ASK, "input": [user, reasoning, whole[1], user]})
                 for reasoning in (whole[0], only_sealed)]
        self.assertEqual(*(found["usage"]["input_tokens"] for found in again))
        self.assertNotIn("warnings", again[1])


FUNCTION = {"type": "function", "name": "get_weather", "parameters": tools_test.CITY}
USER = {"role": "user", "content": "Weather?"}
CALL = {"input": [USER], "temperature": 0, "tools": [FUNCTION], "max_output_tokens": 200}
CALL_EVENTS = ["response.output_item.added", "response.function_call_arguments.delta",
               "response.function_call_arguments.done", "response.output_item.done"]


class Calls(ServerTest):
    """A model that says something and calls a tool."""

    @classmethod
    def arguments(cls):
        return (cls.file("calls.gguf", script_model(tools_test.SCRIPT, tools_test.TEMPLATE)),)

    def ask(self, **members):
        return super().ask(PATH, {**CALL, **members})

    def stream(self, **members):
        return self.server.events(PATH, {**CALL, **members})

    @staticmethod
    def without_ids(items):
        return [{k: v for k, v in item.items() if k not in ("id", "call_id")} for item in items]

    def test_items(self):
        found = self.ask()
        message, call = found["output"]
        self.assertEqual(message["content"][0]["text"].strip(), "Let me see.")
        self.assertEqual((call["type"], call["status"], call["name"]),
                         ("function_call", "completed", "get_weather"))
        self.assertEqual(json.loads(call["arguments"]), {"city": "Paris"})
        self.assertRegex(call["id"], "^fc_")
        self.assertRegex(call["call_id"], "^call_")
        self.assertEqual((found["status"], found["tools"], found["tool_choice"],
                          found["parallel_tool_calls"]), ("completed", [FUNCTION], "auto", True))
        self.assertNotIn("warnings", found)

    def test_every_cut(self):
        """A stream has what the whole has, wherever it ends."""
        for tokens in range(1, len(tools_test.SCRIPT) + 2):
            with self.subTest(tokens=tokens):
                whole = self.ask(max_output_tokens=tokens)
                events = self.stream(max_output_tokens=tokens)
                last = events[-1][1]["response"]
                self.assertEqual(self.without_ids(last["output"]),
                                 self.without_ids(whole["output"]))
                is_cut = tokens <= len(tools_test.SCRIPT)
                self.assertEqual(last["status"], "incomplete" if is_cut else "completed")
                self.assertEqual(whole["status"], last["status"])
                done = [e["item"] for n, e in events if n == "response.output_item.done"]
                self.assertEqual(done, last["output"])
                if whole["output"][-1]["type"] == "function_call":
                    text = whole["output"][-1]["arguments"]
                    deltas = [e["delta"] for n, e in events if n == CALL_EVENTS[1]]
                    self.assertEqual("".join(deltas), text)

    def test_events(self):
        names = merged([name for name, _ in self.stream()])
        self.assertEqual(names, [*BEGIN, *MESSAGE_EVENTS, *CALL_EVENTS, "response.completed"])

    def test_forced(self):
        tool = {**FUNCTION, "parameters": tools_test.OSLO}
        for choice in ("required", {"type": "function", "name": "get_weather"},
                       {"type": "allowed_tools", "mode": "required",
                        "tools": [{"type": "function", "name": "get_weather"}]}):
            with self.subTest(choice=choice):
                call, = self.ask(tools=[tool], tool_choice=choice,
                                 parallel_tool_calls=False)["output"]
                self.assertEqual(json.loads(call["arguments"]), {"city": "Oslo"})

    def test_custom(self):
        tool = {"type": "custom", "name": "get_weather",
                "format": {"type": "grammar", "syntax": "regex", "definition": "Rome"}}
        how = {"tools": [tool], "tool_choice": "required", "parallel_tool_calls": False}
        call, = self.ask(**how)["output"]
        self.assertEqual((call["type"], call["input"]), ("custom_tool_call", "Rome"))
        names = {name for name, _ in self.stream(**how)}
        self.assertLessEqual({"response.custom_tool_call_input.delta",
                              "response.custom_tool_call_input.done"}, names)
        output = {"type": "custom_tool_call_output", "call_id": call["call_id"], "output": "rain"}
        self.assertNotIn("warnings", self.ask(input=[USER, call, output], tools=[tool]))

    def test_output_can_be_sent_back(self):
        first = self.ask()
        result = {"type": "function_call_output", "call_id": first["output"][1]["call_id"],
                  "output": [{"type": "input_text", "text": "rain"}]}
        again = self.ask(input=[USER, *first["output"], result])
        self.assertNotIn("warnings", again)
        self.assertGreater(again["usage"]["input_tokens"], first["usage"]["input_tokens"])
        self.refused(PATH, {**CALL, "input": [USER, result]}, "input")

    def test_tokens_count_tools(self):
        def counted(**members):
            return super(Calls, self).ask(PATH + "/input_tokens",
                                          {"input": [USER], **members})["input_tokens"]
        self.assertGreater(counted(tools=[FUNCTION]), counted())

    def test_text_format(self):
        schema = {"type": "json_schema", "name": "x", "strict": True,
                  "schema": {"enum": ["a", "b"]}}
        found = self.ask(tools=[], text={"format": schema})
        self.assertIn(json.loads(text_of(found)), ("a", "b"))
        self.assertEqual(found["text"]["format"], schema)
        found = self.ask(tools=[], text={"format": {"type": "json_object"}})
        if found["status"] == "completed":
            self.assertIsInstance(json.loads(text_of(found)), dict)


if __name__ == "__main__":
    serving.main()
