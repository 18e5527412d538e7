#!/usr/bin/env python3
"""Tests POST /v1/messages and count_tokens: objects, order of events and errors, as Anthropic's."""
import json
import os

import serving
import tools_test
from script_model import script_model
from serving import ServerTest, wrong_values

PATH = "/v1/messages"
COUNT = "/v1/messages/count_tokens"
SCRIPT = ["<think>", "hm", ", so", "</think>", "\n\n", "Hello", " there", "!"]
USER = {"role": "user", "content": "Hello"}
ASK = {"messages": [USER], "temperature": 0, "max_tokens": 40}
LONG = {"max_tokens": 900, "ignore_eos": True}
BLOCK_EVENTS = ["content_block_start", "content_block_delta", "content_block_stop"]
KEY = "a-key-of-many-letters"

# Members and the kinds of JSON values that they may be.
MEMBERS = {
    "model": ["string"], "messages": ["array"], "system": ["string", "array"],
    "max_tokens": ["integer"], "temperature": ["number"], "top_p": ["number"],
    "top_k": ["integer"], "stop_sequences": ["array"], "stream": ["boolean"],
    "metadata": ["object"], "thinking": ["object"], "output_config": ["object"],
    "tools": ["array"], "tool_choice": ["object"], "service_tier": ["string"],
    "speed": ["string"], "cache_control": ["object"], "chat_template_kwargs": ["object"],
    "seed": ["integer"], "priority": ["integer"], "cache_salt": ["string"],
    "speculation": ["object"],
    "container": ["string", "object"], "context_management": ["object"], "mcp_servers": ["array"],
    "betas": ["array"], "output_format": ["object"],
    # Never, whatever they are.
    "stop": [], "inference_geo": []}


def merged(names):
    """Names without repetitions in a row."""
    return [n for i, n in enumerate(names) if i == 0 or names[i - 1] != n]


def prompt_tokens(usage):
    return (usage["input_tokens"] + usage["cache_read_input_tokens"]
            + usage["cache_creation_input_tokens"])


class MessagesTest(ServerTest):
    def ask(self, **members):
        return super().ask(PATH, {**ASK, **members})

    def text(self, **members):
        return "".join(block["text"] for block in self.ask(**members)["content"])

    def stream(self, **members):
        """The events of a stream, whose names are checked."""
        events = self.server.events(PATH, {**ASK, **members})
        for name, event in events:
            self.assertEqual(event["type"], name)
        return events

    def count(self, **members):
        return super().ask(COUNT, {"messages": [USER], **members})["input_tokens"]


class Messages(MessagesTest):
    def test_object(self):
        found = self.ask(metadata={"user_id": "me"})
        self.assertTrue(found["id"].startswith("msg_"), found)
        self.assertEqual((found["type"], found["role"], found["stop_reason"],
                          found["stop_sequence"]), ("message", "assistant", "end_turn", None))
        block, = found["content"]
        self.assertEqual(block["type"], "text")
        self.assertTrue(block["text"], found)
        self.assertEqual(prompt_tokens(found["usage"]), self.count())
        self.assertNotIn("warnings", found)

    def test_stream_agrees(self):
        whole = self.ask()
        events = self.stream()
        self.assertEqual(merged([name for name, _ in events]),
                         ["message_start", *BLOCK_EVENTS, "message_delta", "message_stop"])
        start = events[0][1]["message"]
        self.assertEqual((start["content"], start["stop_reason"], start["usage"]["output_tokens"]),
                         ([], None, 0))
        self.assertEqual(prompt_tokens(start["usage"]), self.count())
        deltas = [e["delta"] for name, e in events if name == "content_block_delta"]
        self.assertEqual({d["type"] for d in deltas}, {"text_delta"})
        self.assertEqual("".join(d["text"] for d in deltas), whole["content"][0]["text"])
        end = events[-2][1]
        self.assertEqual(end["delta"], {"stop_reason": "end_turn", "stop_sequence": None})
        self.assertEqual(end["usage"]["output_tokens"], whole["usage"]["output_tokens"])

    def test_cached_tokens_are_apart_from_the_first_event_on(self):
        def usages(**members):
            events = self.stream(messages=[{"role": "user", "content": "What is new? " * 30}],
                                 **members)
            start, end = events[0][1]["message"]["usage"], events[-2][1]["usage"]
            self.assertEqual({**start, "output_tokens": 0}, {**end, "output_tokens": 0})
            return prompt_tokens(start), start["cache_read_input_tokens"]
        tokens, _ = usages(max_tokens=1)
        for members in ({"max_tokens": 1}, {"stop_sequences": list("abcdefghijklmnopqrstuvwxyz ")}):
            again, cached = usages(**members)
            self.assertGreaterEqual(cached, tokens - 16)
            self.assertEqual(again, tokens)

    def test_cut(self):
        found = self.ask(max_tokens=2)
        self.assertEqual((found["stop_reason"], found["usage"]["output_tokens"]),
                         ("max_tokens", 2))

    def test_stop_sequences(self):
        text = self.text()
        stops = [text[5:8], text[2:4]]
        found = self.ask(stop_sequences=["never said", *stops])
        self.assertEqual((found["stop_reason"], found["stop_sequence"]),
                         ("stop_sequence", stops[1]))
        self.assertEqual(found["content"][0]["text"], text[:2])
        delta = self.stream(stop_sequences=stops)[-2][1]["delta"]
        self.assertEqual(delta, {"stop_reason": "stop_sequence", "stop_sequence": stops[1]})

    def test_nothing_said(self):
        """A reply that ends at once has no block."""
        found = self.ask(stop_sequences=[self.text()[0]])
        self.assertEqual((found["content"], found["stop_reason"]), ([], "stop_sequence"))
        self.assertEqual([n for n, _ in self.stream(stop_sequences=[self.text()[0]])],
                         ["message_start", "message_delta", "message_stop"])

    def test_forms(self):
        """Equivalent forms of a prompt give equal replies."""
        blocks = [{"type": "text", "text": "Hello", "cache_control": {"type": "ephemeral"}}]
        self.assertEqual(self.text(messages=[{"role": "user", "content": blocks}]), self.text())
        self.assertEqual(self.text(system=[{"type": "text", "text": "Be kind"}]),
                         self.text(system="Be kind"))
        self.assertEqual(self.count(system="Be kind"),
                         self.count(messages=[{"role": "system", "content": "Be kind"}, USER]))
        # Turns of one role are one turn.
        self.assertEqual(self.count(messages=[USER, USER]),
                         self.count(messages=[{"role": "user", "content": "Hello\nHello"}]))

    def test_begun_reply(self):
        """The last message is continued when it is the assistant's."""
        text = self.text()
        at = text.index(" ")
        begun = {"role": "assistant", "content": text[:at]}
        self.assertEqual(self.text(messages=[USER, begun]), text[at:])

    def test_count(self):
        self.assertGreater(self.count(system="Be kind"), self.count())
        # Also of prompts that no reply fits behind.
        self.assertGreater(self.count(messages=[{"role": "user", "content": "word " * 5000}]),
                           5000)

    def test_warnings(self):
        def warned(**members):
            return [(w["param"], w["code"]) for w in self.ask(**members).get("warnings", [])]
        self.assertEqual(warned(thinking={"type": "disabled"}, service_tier="auto",
                                tool_choice={"type": "none"}), [])
        tool = {"name": "f", "input_schema": {}, "cache_control": {"type": "ephemeral"}}
        for choice in ("auto", "none"):
            self.assertEqual(warned(tools=[], tool_choice={"type": choice}),
                             [("tools", "ignored")])
        self.assertEqual(warned(tools=[tool], tool_choice={"type": "none"}), [])
        self.assertEqual(warned(tools=[{**tool, "x": 1}], tool_choice={"type": "none"}),
                         [("tools[0].x", "unknown")])
        self.assertEqual(warned(stop_sequences=["", "zzz"]), [("stop_sequences", "ignored")])
        self.assertEqual(warned(thinking={"type": "enabled", "budget_tokens": 1024}),
                         [("thinking.type", "ignored"), ("thinking.budget_tokens", "ignored")])
        self.assertEqual(warned(output_config={"effort": "high"}),
                         [("output_config.effort", "ignored")])
        self.assertEqual(warned(cache_control={"type": "ephemeral"}),
                         [("cache_control", "ignored")])
        self.assertEqual(warned(max_tokens=100000), [("max_tokens", "clamped")])
        self.assertEqual(warned(metadata={"x": 1}, m=2),
                         [("metadata.x", "unknown"), ("m", "unknown")])

    def refused(self, param, path=PATH, status=400, **members):
        return super().refused(path, {**ASK, **members}, param, status)

    def test_refused(self):
        without = {name: value for name, value in ASK.items() if name != "max_tokens"}
        super().refused(PATH, without, "max_tokens")
        self.refused("max_tokens", max_tokens=0)
        self.refused("temperature", temperature=100.1)
        self.refused("n", n=2)
        self.refused("response_format", response_format={"type": "json_object"})
        self.refused("grammar", grammar="root ::= [0-9]")
        for tool in ({}, {"name": "f"}, {"name": "a b", "input_schema": {}},
                     {"name": "f", "input_schema": []},
                     {"type": "web_search_20250305", "name": "web_search"},
                     {"type": "computer_20250124", "name": "computer"}):
            self.refused("tools", tools=[tool])
            self.refused("tools", tools=[tool], path=COUNT)
        good = {"name": "f", "input_schema": {}}
        self.refused("tools", tools=[good, good])
        self.refused("tool_choice", tool_choice={"type": "any"})
        self.refused("tool_choice.type", tool_choice={"type": "required"})
        self.refused("tool_choice.name", tools=[good], tool_choice={"type": "tool"})
        self.refused("tool_choice.name", tools=[good], tool_choice={"type": "tool", "name": "g"})
        self.refused("thinking.type", thinking={})
        self.refused("thinking.type", thinking={"type": "some"})
        self.refused("thinking.budget_tokens", thinking={"type": "enabled", "budget_tokens": 0})
        self.refused("output_config.format.schema",
                     output_config={"format": {"type": "json_schema"}})
        self.refused("metadata.user_id", metadata={"user_id": 3})
        for stops in ([3], ["x" * 1025], ["x"] * 65):
            self.refused("stop_sequences", stop_sequences=stops)
        image = {"type": "image", "source": {"type": "url", "url": "http://x"}}
        thinking = {"type": "thinking", "thinking": "hm", "signature": ""}
        result = {"type": "tool_result", "tool_use_id": "x", "content": "y"}
        for bad in (None, "", {"role": "user"}, {"role": "tool", "content": "x"},
                    {"role": "user", "content": 3}, {"role": "user", "content": None},
                    {"role": "user", "content": []}, {"role": "user", "content": ["x"]},
                    {"role": "user", "content": [image]}, {"role": "user", "content": [thinking]},
                    {"role": "user", "content": [{"type": "text", "text": 3}]},
                    {"role": "user", "content": [result]},
                    {"role": "assistant", "content": [thinking]},
                    {"role": "assistant", "content": ""}):
            self.refused("messages", messages=[bad])
            self.refused("messages", messages=[bad], path=COUNT)
        self.refused("messages", messages=[])
        self.refused("system", system=[image])

    def test_long_prompts(self):
        """Clients look for this wording. Very long texts are refused before they are encoded."""
        for words in (5000, 200_000):
            long = [{"role": "user", "content": "word " * words}]
            error = self.refused("messages", messages=long)
            self.assertEqual((error["type"], error["code"], error["n_ctx"]),
                             ("invalid_request_error", "context_length_exceeded", 1024))
            self.assertRegex(error["message"],
                             r"^prompt is too long: \d+ tokens > 1024 maximum$")

    def test_no_limit(self):
        for limit in (-1, None):
            found = self.ask(max_tokens=limit, ignore_eos=True)
            usage = found["usage"]
            self.assertEqual(prompt_tokens(usage) + usage["output_tokens"], 1024)
            self.assertNotIn("warnings", found)

    def test_entries(self):
        """Errors name the entry."""
        text = {"type": "text", "text": "x"}
        for bad, param in (({"role": "user", "content": [text, {"type": "image"}]},
                            "messages[1].content[1]"),
                           ({"role": "user", "content": 3}, "messages[1].content"),
                           ({"role": "cook", "content": "x"}, "messages[1]")):
            error = self.refused("messages", messages=[USER, bad])
            self.assertEqual(error["param"], param)
            self.assertIn(param + " ", error["message"])
        error = self.refused("system", system=[text, {"type": "text"}])
        self.assertEqual(error["param"], "system[1]")
        error = self.refused("stop_sequences", stop_sequences=["a", "", 3])
        self.assertEqual(error["param"], "stop_sequences[2]")

    def test_kinds(self):
        """Every member, as every kind of value that it may not be."""
        for name, kinds in MEMBERS.items():
            for value in wrong_values(*kinds):
                self.refused(name, **{name: value})

    def test_hints(self):
        """Hints of coding agents change nothing, and demands are refused."""
        cached = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
        content = [{"type": "text", "text": "Hello", **cached}]
        hints = {"context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]},
                 "container": "container_1", "mcp_servers": [], "betas": ["x-2099-01-01"],
                 "service_tier": "priority", "output_config": {"effort": "high"}, **cached}
        status, _, reply = self.server.request(
            "POST", PATH, {**ASK, **hints, "metadata": {"user_id": "me"},
                           "system": [{"type": "text", "text": "Be kind", **cached}],
                           "messages": [{"role": "user", "content": content, **cached}]},
            **{"anthropic-beta": "a-2025-01-01,b-2099-12-31"})
        found = json.loads(reply)
        self.assertEqual(status, 200, found)
        self.assertEqual(found["content"], self.ask(system="Be kind")["content"])
        self.assertEqual({w["param"] for w in found["warnings"]},
                         set(hints) - {"output_config"} | {"output_config.effort"})
        counted = self.server.post(COUNT, {"messages": [USER], **hints})[1]
        self.assertEqual(counted["input_tokens"], self.count())
        self.ask(container={"id": "container_1", "skills": []})
        self.refused("container.skills", container={"skills": [{"type": "anthropic"}]})
        self.refused("mcp_servers", mcp_servers=[{"type": "url", "url": "https://x", "name": "x"}])
        self.refused("output_config.format.schema",
                     output_config={"format": {"type": "json_schema"}})

    def error(self, method="POST", path=PATH, body=None, **headers):
        """(status, type) of an error in Anthropic's form."""
        status, _, content = self.server.request(method, path, body, **headers)
        found = json.loads(content)
        self.assertEqual(found["type"], "error", found)
        self.assertTrue(found["request_id"], found)
        return status, found["error"]["type"]

    def test_errors_of_common_code(self):
        self.assertEqual(self.error("GET"), (405, "invalid_request_error"))
        self.assertEqual(self.error(body=[]), (400, "invalid_request_error"))
        self.assertEqual(self.error(body={}, **{"Content-Type": "text/plain"}),
                         (415, "invalid_request_error"))
        self.assertEqual(self.error(body={}, Host="elsewhere"), (421, "invalid_request_error"))
        self.assertEqual(self.error(body={**ASK, "model": "other"}), (404, "not_found_error"))
        self.assertEqual(self.error(path=COUNT, body={**ASK, "model": "other"}),
                         (404, "not_found_error"))

    def test_errors_of_the_engine(self):
        self.assertEqual(self.error(body={**ASK, **LONG, "deadline_ms": 1}),
                         (503, "overloaded_error"))
        name, event = self.server.cancelled(PATH, {**ASK, **LONG})[-1]
        self.assertEqual((name, event["type"], event["error"]["code"]),
                         ("error", "error", "cancelled"))
        self.assertTrue(event["request_id"], event)

    def test_request_id(self):
        _, fields, content = self.server.request("POST", PATH, ASK)
        self.assertEqual(json.loads(content)["id"], "msg_" + fields["request-id"])


class Thinking(MessagesTest):
    """A model that thinks, and says the same always."""

    @classmethod
    def arguments(cls):
        return (cls.file("script.gguf", script_model(SCRIPT)),)

    def test_blocks(self):
        found = self.ask()
        self.assertEqual(found["content"], [
            {"type": "thinking", "thinking": "hm, so",
             "signature": found["content"][0]["signature"]},
            {"type": "text", "text": "Hello there!"}])
        self.assertTrue(found["content"][0]["signature"])

    def test_events(self):
        events = self.stream()
        self.assertEqual(merged([name for name, _ in events]),
                         ["message_start", *BLOCK_EVENTS, *BLOCK_EVENTS, "message_delta",
                          "message_stop"])
        deltas = [e["delta"] for name, e in events if name == "content_block_delta"]
        self.assertEqual("".join(d.get("thinking", "") for d in deltas), "hm, so")
        signature, = [d["signature"] for d in deltas if d["type"] == "signature_delta"]
        self.assertEqual(signature, self.ask()["content"][0]["signature"])
        self.assertEqual("".join(d.get("text", "") for d in deltas), "Hello there!")
        indices = [e["index"] for _, e in events if "index" in e]
        self.assertEqual(indices, sorted(indices))
        self.assertEqual(set(indices), {0, 1})

    def test_goes_on(self):
        """Thinking that is sent back reaches the template."""
        blocks = self.ask()["content"]
        with_all = self.count(messages=[USER, {"role": "assistant", "content": blocks}, USER])
        without = self.count(messages=[USER, {"role": "assistant", "content": blocks[1:]}, USER])
        self.assertGreater(with_all, without)

    def test_signatures_are_checked(self):
        thinking, text = self.ask()["content"]

        def messages(block):
            return [USER, {"role": "assistant", "content": [block, text]}, USER]
        for changed in ({**thinking, "thinking": "hm, no"}, {**thinking, "signature": ""},
                        {**thinking, "signature": thinking["signature"][:-1] + "!"},
                        {"type": "thinking", "thinking": "hm, so"}):
            with self.subTest(changed=changed):
                self.refused(PATH, {**ASK, "messages": messages(changed)}, "messages")
        redacted = {"type": "redacted_thinking", "data": "x"}
        warning, = self.ask(messages=messages(redacted))["warnings"]
        self.assertEqual((warning["param"], warning["code"]),
                         ("messages[1].content[0]", "ignored"))

    def test_signatures_of_another_process(self):
        """After a restart, thinking is left out with a warning."""
        thinking, text = self.ask()["content"]
        other = serving.Server(self.path("script.gguf"))
        try:
            _, found = other.post(PATH, {**ASK, "messages": [
                USER, {"role": "assistant", "content": [thinking, text]}, USER]})
        finally:
            other.stop()
        warning, = found["warnings"]
        self.assertEqual((warning["param"], warning["code"]),
                         ("messages[1].content[0]", "ignored"))

    def test_budget(self):
        found = self.ask(thinking={"type": "enabled", "budget_tokens": 1})
        self.assertEqual(found["content"][0]["thinking"], "hm")

    def test_cannot_be_left_out(self):
        warning, = self.ask(thinking={"type": "disabled"})["warnings"]
        self.assertEqual((warning["param"], warning["code"]), ("thinking.type", "ignored"))


TOOL = {"name": "get_weather", "input_schema": tools_test.CITY}


class Calls(MessagesTest):
    """A model that says something and calls a tool."""

    @classmethod
    def arguments(cls):
        model = cls.file("calls.gguf", script_model(tools_test.SCRIPT, tools_test.TEMPLATE))
        return (model, "--ctx", "16384", "--log-level", "error")

    def ask(self, **members):
        return super().ask(**{"tools": [TOOL], "max_tokens": 200, **members})

    def joined(self, **members):
        """The message that the events of a stream make."""
        events = self.stream(**{"tools": [TOOL], "max_tokens": 200, **members})
        blocks, inputs = [], []
        for name, event in events:
            if name == "content_block_start":
                self.assertEqual(event["index"], len(blocks))
                blocks.append(event["content_block"])
                inputs.append("")
            elif name == "content_block_delta":
                delta = event["delta"]
                if delta["type"] == "text_delta":
                    blocks[-1]["text"] += delta["text"]
                else:
                    self.assertEqual((delta["type"], blocks[-1]["input"]),
                                     ("input_json_delta", {}))
                    inputs[-1] += delta["partial_json"]
        for block, text in zip(blocks, inputs):
            if block["type"] == "tool_use":
                self.assertRegex(block["id"], "^toolu_")
                block["input"] = tolerant(text)
        return blocks, events[-2][1]["delta"]["stop_reason"]

    def test_blocks(self):
        found = self.ask()
        text, call = found["content"]
        self.assertEqual(text["text"].strip(), "Let me see.")
        self.assertEqual((call["type"], call["name"], call["input"]),
                         ("tool_use", "get_weather", {"city": "Paris"}))
        self.assertEqual(found["stop_reason"], "tool_use")
        self.assertNotIn("warnings", found)

    def test_every_cut(self):
        """A stream has what the whole has, wherever it ends. The limit on tokens wins."""
        for tokens in range(1, len(tools_test.SCRIPT) + 2):
            with self.subTest(tokens=tokens):
                whole = self.ask(max_tokens=tokens)
                blocks, stop = self.joined(max_tokens=tokens)
                without = [{k: v for k, v in b.items() if k != "id"} for b in blocks]
                self.assertEqual(without, [{k: v for k, v in b.items() if k != "id"}
                                           for b in whole["content"]])
                self.assertEqual((stop, whole["stop_reason"]),
                                 (("max_tokens",) if tokens <= len(tools_test.SCRIPT)
                                  else ("tool_use",)) * 2)

    def test_forced(self):
        tool = {**TOOL, "input_schema": tools_test.OSLO, "strict": True}
        for choice in ({"type": "any", "disable_parallel_tool_use": True},
                       {"type": "tool", "name": "get_weather"}):
            with self.subTest(choice=choice):
                call, = self.ask(tools=[tool], tool_choice=choice)["content"]
                self.assertEqual(call["input"], {"city": "Oslo"})

    def test_results(self):
        text, call = self.ask()["content"]

        def tokens(**members):
            result = {"type": "tool_result", "tool_use_id": call["id"], **members}
            return self.count(tools=[TOOL], messages=[
                USER, {"role": "assistant", "content": [text, call]},
                {"role": "user", "content": [result, {"type": "text", "text": "And?"}]}])
        rain = tokens(content="rain")
        self.assertEqual(tokens(content=[{"type": "text", "text": "rain"}]), rain)
        self.assertGreater(rain, tokens())
        self.assertGreater(tokens(content="rain", is_error=True), rain)
        self.assertGreater(self.count(tools=[TOOL]), self.count())

    def test_known_tools(self):
        tools = [{"type": "bash_20250124", "name": "bash"},
                 {"type": "text_editor_20250728", "name": "str_replace_based_edit_tool"}]
        self.assertNotIn("warnings", self.ask(tools=tools, max_tokens=2))
        call, = self.ask(tools=tools[:1], max_tokens=200, tool_choice={
            "type": "tool", "name": "bash"})["content"]
        self.assertEqual((call["type"], call["name"]), ("tool_use", "bash"))

    def test_output_format(self):
        form = {"type": "json_schema", "schema": {"enum": ["a", "b"]}}
        for members in ({"output_config": {"format": form}}, {"output_format": form}):
            block, = self.ask(tools=[], **members)["content"]
            self.assertIn(json.loads(block["text"]), ("a", "b"))
        never = {"type": "json_schema",
                 "schema": {"type": "object", "properties": {"a": {"pattern": "(a)\\1"}}}}
        self.refused(PATH, {**ASK, "output_config": {"format": never}},
                     "output_config.format.schema")

    def test_a_coding_agent(self):
        """A long list of tools, hints, and a file edit of several turns."""
        cached = {"cache_control": {"type": "ephemeral"}}
        tools = [{"name": f"Tool{i}", "description": "Does things. " * 20,
                  "input_schema": {"$schema": "http://json-schema.org/draft-07/schema#",
                                   "type": "object", "additionalProperties": False,
                                   "properties": {"path": {"type": "string"},
                                                  "n": {"type": "number"}},
                                   "required": ["path"]}} for i in range(3)]
        how = {"tools": [*tools, {**TOOL, **cached}], "max_tokens": 60,
               "system": [{"type": "text", "text": "You edit files.", **cached}],
               "metadata": {"user_id": "me"},
               "thinking": {"type": "enabled", "budget_tokens": 1024},
               "context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}}
        messages = [USER]
        for _ in range(2):
            reply = self.ask(messages=messages, **how)
            self.assertEqual(reply["stop_reason"], "tool_use")
            call = reply["content"][-1]
            messages = [*messages, {"role": "assistant", "content": reply["content"]},
                        {"role": "user", "content": [
                            {"type": "tool_result", "tool_use_id": call["id"],
                             "content": [{"type": "text", "text": "done"}], **cached}]}]


def tolerant(text):
    """The JSON of a call's input; an empty object for a call that was cut."""
    try:
        return json.loads(text)
    except ValueError:
        return {}


class Keys(ServerTest):
    """Anthropic's clients send their key in a field of its own."""

    @classmethod
    def arguments(cls):
        path = cls.file("keys", f"{KEY}\n".encode())
        os.chmod(path, 0o600)
        return ("--api-key-file", path)

    def test_key(self):
        self.assertEqual(self.server.post(PATH, ASK, **{"x-api-key": KEY})[0], 200)
        status, found = self.server.post(PATH, ASK, **{"x-api-key": "another-key-of-letters"})
        self.assertEqual((status, found["type"], found["error"]["type"]),
                         (401, "error", "authentication_error"))


if __name__ == "__main__":
    serving.main()
