#!/usr/bin/env python3
"""Tests reasoning in chats: it is separate from the content, and requests can set its effort."""
import json

import serving
from script_model import TEMPLATE, script_model
from serving import ServerTest

SCRIPT = ["<think>", "hm", ", so", "</think>", "\n\n", "Hello", " there", "!"]
USER = {"role": "user", "content": "Hello"}
# Three tokens more where it is set: of letters, which are no pieces of the script.
ARGUMENTS = ("{% if enable_thinking is defined %}"
             "{{ 'on!' if enable_thinking else 'off' }}{% endif %}"
             "{% if messages[0].role == 'assistant' %}{{ raise_exception('no') }}{% endif %}")


def paths():
    """The endpoints that take chats, with a body for each."""
    yield "/v1/chat/completions", {"messages": [USER]}, "messages"
    yield "/v1/responses", {"input": [USER]}, "input"
    yield "/v1/messages", {"messages": [USER], "max_tokens": 40}, "messages"


def prompt_tokens(found):
    usage = found["usage"]
    if "prompt_tokens" in usage:
        return usage["prompt_tokens"]
    return usage["input_tokens"] + usage.get("cache_read_input_tokens", 0)


class Chat(ServerTest):
    PATH = "/v1/chat/completions"

    @classmethod
    def arguments(cls):
        return (cls.file("script.gguf", script_model(SCRIPT)),)

    def test_whole(self):
        found = self.ask(self.PATH, {"messages": [USER], "n": 2})
        for choice in found["choices"]:
            message = choice["message"]
            self.assertEqual((message["reasoning_content"], message["reasoning"],
                              message["content"]), ("hm, so", "hm, so", "Hello there!"))
        usage = found["usage"]
        self.assertEqual(usage["completion_tokens"], 2 * len(SCRIPT))
        self.assertEqual(usage["completion_tokens_details"]["reasoning_tokens"], 2 * 4)

    def test_stream(self):
        _, _, content = self.server.request("POST", self.PATH, {"messages": [USER], "stream": True})
        *frames, done, rest = content.decode().split("\n\n")
        self.assertEqual((done, rest), ("data: [DONE]", ""))
        deltas = [json.loads(f.removeprefix("data: "))["choices"][0]["delta"] for f in frames]
        self.assertEqual("".join(d.get("reasoning_content", "") for d in deltas), "hm, so")
        self.assertEqual("".join(d.get("reasoning", "") for d in deltas), "hm, so")
        self.assertEqual("".join(d.get("content", "") for d in deltas), "Hello there!")

    def test_effort_is_unknown(self):
        for path, body, how in ((self.PATH, {"messages": [USER]}, {"reasoning_effort": "low"}),
                                ("/v1/responses", {"input": "Hello"},
                                 {"reasoning": {"effort": "low"}})):
            warning, = self.ask(path, {**body, **how})["warnings"]
            self.assertEqual(warning["code"], "ignored")
            self.assertIn(warning["param"], ("reasoning_effort", "reasoning.effort"))


class Arguments(ServerTest):
    """A template that can leave reasoning out, and refuses messages that it does not know."""

    @classmethod
    def arguments(cls):
        return (cls.file("script.gguf", script_model(SCRIPT, TEMPLATE + ARGUMENTS)),)

    def test_thinking(self):
        """Every way to say it reaches the template."""
        hows = [{"chat_template_kwargs": {"enable_thinking": False}}]
        ways = {"/v1/chat/completions": [*hows, {"reasoning_effort": "none"}],
                "/v1/responses": [*hows, {"reasoning": {"effort": "none"}}],
                "/v1/messages": [*hows, {"thinking": {"type": "disabled"}},
                                 {"thinking": {"type": "adaptive"}}]}
        for path, body, _ in paths():
            without = prompt_tokens(self.ask(path, body))
            for how in ways[path]:
                found = self.ask(path, {**body, **how})
                self.assertEqual(prompt_tokens(found), without + 3, f"{path} {how}")
                self.assertNotIn("warnings", found)

    def test_refused_by_template(self):
        for path, body, member in paths():
            messages = [{"role": "assistant", "content": "Hi"}, USER]
            error = self.refused(path, {**body, member: messages}, member)
            self.assertIn("the template refused: no", error["message"])


if __name__ == "__main__":
    serving.main()
