#!/usr/bin/env python3
"""Tests constrained text: every way to ask for it, in chats and in completions."""
import json
import os
import re
import threading

import serving
from script_model import script_model
from serving import ServerTest

CHAT = "/v1/chat/completions"
TEXT = "/v1/completions"
SCRIPT = ["<think>", "hm", ", so", "</think>", "\n\n", "Hello", " there", "!"]
PLAIN = ["Hello", " there", "!"]
# Without reasoning.
SHORT_TEMPLATE = "{% for m in messages %}{{ m.role[0] }}:{{ m.content }}\n{% endfor %}a:"
USER = {"role": "user", "content": "Hello"}
SCHEMA = {"type": "object", "properties": {"a": {"enum": [1, 2]}, "b": {"const": "x"}},
          "required": ["a", "b"], "additionalProperties": False}
UNENFORCED = {"type": "array", "items": {"type": "object", "maxProperties": 0},
              "uniqueItems": True, "maxItems": 2}
TAGS = {"type": "structural_tag", "triggers": ["<f"],
        "structures": [{"begin": "<f>", "schema": {"const": 1}, "end": "</f>"}]}


def is_choice(text):
    return text in ("yes", "no")


def is_object(text):
    value = json.loads(text)
    return value["a"] in (1, 2) and list(value) == ["a", "b"] and value["b"] == "x"


def asked(schema, **members):
    return {"type": "json_schema", "json_schema": {"name": "s", "schema": schema, **members}}


# Members of a request, and whether a text is what they allow.
WAYS = (
    ({"guided_choice": ["yes", "no"]}, is_choice),
    ({"structured_outputs": {"choice": ["yes", "no"]}}, is_choice),
    ({"guided_regex": "[ab]{3}"}, lambda text: re.fullmatch("[ab]{3}", text)),
    ({"structured_outputs": {"regex": "[ab]{3}"}}, lambda text: re.fullmatch("[ab]{3}", text)),
    ({"response_format": {"type": "regex", "pattern": "q[xy]"}},
     lambda text: re.fullmatch("q[xy]", text)),
    ({"grammar": 'root ::= "yes" | "no"'}, is_choice),
    ({"guided_grammar": 'root ::= "yes" | "no"'}, is_choice),
    ({"response_format": {"type": "grammar", "grammar": 'root ::= "yes" | "no"'}}, is_choice),
    ({"response_format": asked(SCHEMA)}, is_object),
    ({"response_format": asked(SCHEMA, strict=True)}, is_object),
    ({"response_format": {"type": "json_object", "schema": SCHEMA}}, is_object),
    ({"guided_json": SCHEMA}, is_object),
    ({"guided_json": json.dumps(SCHEMA)}, is_object),
    ({"json_schema": SCHEMA}, is_object),
    ({"structured_outputs": {"json": SCHEMA}}, is_object),
)
BAD = (
    ({"guided_regex": "("}, "guided_regex"),
    ({"grammar": "root ::= other"}, "grammar"),
    ({"guided_json": {"type": "nothing"}}, "guided_json"),
    ({"guided_json": False}, "guided_json"),
    ({"guided_json": {"allOf": [{"type": "string"}, {"type": "integer"}]}}, "guided_json"),
    ({"guided_choice": []}, "guided_choice"),
    ({"guided_choice": ["a"], "guided_regex": "a"}, "guided_choice"),
    ({"response_format": asked(UNENFORCED, strict=True)}, "response_format.json_schema.schema"),
    ({"response_format": {"type": "structural_tag", "structures": [], "triggers": []}},
     "response_format.structures"),
    ({"guided_choice": ["a"], "bad_words": ["a"]}, "bad_words"),
    ({"guided_choice": ["a"], "allowed_token_ids": [5]}, "allowed_token_ids"),
)


class Constraints(ServerTest):
    @classmethod
    def arguments(cls):
        return (cls.file("script.gguf", script_model(PLAIN, SHORT_TEMPLATE)),)

    def bodies(self, members):
        yield CHAT, {"messages": [USER], "temperature": 0, "max_tokens": 200, **members}
        yield TEXT, {"prompt": "Hello", "temperature": 0, "max_tokens": 200, **members}

    @staticmethod
    def text(choice):
        return choice["message"]["content"] if "message" in choice else choice["text"]

    def streamed(self, path, body):
        status, _, content = self.server.request("POST", path, {**body, "stream": True})
        self.assertEqual(status, 200, content)
        frames = content.decode().split("\n\n")[:-2]
        choices = [json.loads(f.removeprefix("data: "))["choices"][0] for f in frames]
        return "".join(c["delta"].get("content", "") if "delta" in c else c["text"]
                       for c in choices)

    def test_every_way(self):
        for members, is_allowed in WAYS:
            for path, body in self.bodies(members):
                with self.subTest(path=path, members=members):
                    found = self.ask(path, body)
                    choice, = found["choices"]
                    self.assertTrue(is_allowed(self.text(choice)), choice)
                    self.assertEqual(choice["finish_reason"], "stop")
                    self.assertNotIn("warnings", found)
                    self.assertEqual(self.streamed(path, body), self.text(choice))

    def test_choices_at_random(self):
        for path, body in self.bodies({"guided_json": SCHEMA, "n": 8, "temperature": 2, "seed": 1}):
            choices = self.ask(path, body)["choices"]
            self.assertTrue(all(is_object(self.text(c)) for c in choices), choices)

    def test_a_cut_is_said(self):
        for path, body in self.bodies({"guided_regex": "a{100}", "max_tokens": 5}):
            choice, = self.ask(path, body)["choices"]
            self.assertEqual(choice["finish_reason"], "length")

    def test_log_probabilities_of_every_token(self):
        body = {"messages": [USER], "guided_json": SCHEMA, "logprobs": True}
        found = self.ask(CHAT, body)
        self.assertEqual(len(found["choices"][0]["logprobs"]["content"]),
                         found["usage"]["completion_tokens"])

    def test_refused(self):
        for members, param in BAD:
            for path, body in self.bodies(members):
                with self.subTest(path=path, members=members):
                    status, found = self.server.post(path, body)
                    self.assertEqual(status, 400, found)
                    self.assertEqual(found["error"]["param"], param, found)

    def test_what_cannot_be_enforced(self):
        for path, body in self.bodies({"guided_json": UNENFORCED}):
            warnings = self.ask(path, body)["warnings"]
            self.assertEqual({(w["param"], w["code"]) for w in warnings},
                             {("guided_json", "not_enforced")})
            self.assertIn("/uniqueItems", warnings[0]["detail"])

    def test_stop_strings_do_not_apply(self):
        for path, body in self.bodies({"guided_choice": ["yes"], "stop": ["e"]}):
            found = self.ask(path, body)
            self.assertEqual(self.text(found["choices"][0]), "yes")
            self.assertEqual([(w["param"], w["code"]) for w in found["warnings"]],
                             [("stop", "not_applied")])

    def test_structural_tags(self):
        """Text of the script is free, since no trigger is in it."""
        for path, body in self.bodies({"response_format": TAGS}):
            self.assertEqual(self.text(self.ask(path, body)["choices"][0]).strip(), "Hello there!")

    def test_continued_messages(self):
        messages = [USER, {"role": "assistant", "content": "ye"}]
        body = {"messages": messages, "continue_final_message": True, "guided_choice": ["yes"]}
        self.refused(CHAT, body, "guided_choice")


# F15: requests whose prompt or constraint fails, and whether their client stays to hear of it.
FAILING_TEMPLATE = ("{% if messages[0].content == 'endless' %}{% for a in range(9999) %}"
                    "{% for b in range(9999) %}{% set c = b %}{% endfor %}{% endfor %}{% endif %}"
                    "{% if messages[0].content == 'raise' %}{{ raise_exception('no') }}{% endif %}"
                    + SHORT_TEMPLATE)
COMPLEX = {"guided_regex": "[ab]*a[ab]{30}c[ab]*a[ab]{30}"}
FAILURES = (({"grammar": "root ::= other"}, "Hello", True),
            ({"guided_json": {"enum": []}}, "Hello", True),
            (COMPLEX, "Hello", True), (COMPLEX, "Hello", False),
            ({"guided_json": {"type": "string", "pattern": "(a|b)*a(a|b){12}"}}, "Hello", False),
            ({"guided_choice": ["yes"]}, "raise", True),
            ({"guided_choice": ["yes"]}, "endless", True))
ROUNDS = 18 if os.environ.get("INGOT_FULL") else 2  # 1,008 requests, and 112
CLIENTS = 8


class Failures(ServerTest):
    @classmethod
    def arguments(cls):
        return (cls.file("script.gguf", script_model(PLAIN, FAILING_TEMPLATE)),)

    def threads(self):
        """The number of threads of the server."""
        with open(f"/proc/{self.server.process.pid}/status", encoding="ascii") as status:
            return int(next(line for line in status if line.startswith("Threads:")).split()[1])

    def fail(self, wrong, threads):
        for i in range(ROUNDS * len(FAILURES)):
            members, content, stays = FAILURES[i % len(FAILURES)]
            body = {"messages": [{"role": "user", "content": content}], "max_tokens": 60, **members}
            if stays:
                status, found = self.server.post(CHAT, body)
                if status != 400:
                    wrong.append((members, content, status, found))
            else:
                connection = self.server.connect()
                connection.request("POST", CHAT, json.dumps(body),
                                   {"Content-Type": "application/json"})
                connection.close()
            threads.append(self.threads())

    def succeed(self, wrong, stop):
        try:
            self.ask_until(wrong, stop)
        except Exception as error:  # a thread's own would be lost
            wrong.append(error)

    def ask_until(self, wrong, stop):
        while not stop.is_set():
            for members, is_allowed in WAYS[::3]:
                status, found = self.server.post(CHAT, {
                    "messages": [USER], "temperature": 0, "max_tokens": 200, **members})
                if status != 200 or not is_allowed(found["choices"][0]["message"]["content"]):
                    wrong.append((members, status, found))

    def test_f15_failures_beside_good_requests(self):
        self.ask(CHAT, {"messages": [USER], "guided_choice": ["yes"]})
        before, wrong, threads, stop = self.threads(), [], [], threading.Event()
        good = [threading.Thread(target=self.succeed, args=(wrong, stop)) for _ in range(2)]
        bad = [threading.Thread(target=self.fail, args=(wrong, threads)) for _ in range(CLIENTS)]
        for thread in (*good, *bad):
            thread.start()
        for thread in bad:
            thread.join()
        stop.set()
        for thread in good:
            thread.join()
        self.assertEqual(wrong, [])
        self.assertEqual(len(threads), CLIENTS * ROUNDS * len(FAILURES))
        self.assertLessEqual(max(threads), before)  # compiling starts no threads


class Reasoning(ServerTest):
    @classmethod
    def arguments(cls):
        # Forced text that closes the block is the script's own token, so the script continues.
        return (cls.file("script.gguf", script_model(SCRIPT, defined=("</think>",))),)

    def chat(self, **members):
        return self.ask(CHAT, {"messages": [USER], "temperature": 0, "max_tokens": 60, **members})

    def test_a_constraint_begins_behind_it(self):
        message = self.chat(guided_choice=["yes"])["choices"][0]["message"]
        self.assertEqual((message["reasoning_content"], message["content"]), ("hm, so", "yes"))

    def test_budget(self):
        for how in ({"thinking_budget": 1}, {"reasoning": {"max_tokens": 1}}):
            found = self.chat(**how)
            message = found["choices"][0]["message"]
            self.assertEqual((message["reasoning"], message["content"].strip()),
                             ("hm", "Hello there!"))
            self.assertNotIn("warnings", found)
        message = self.chat(thinking_budget=0)["choices"][0]["message"]
        self.assertFalse(message["reasoning"])
        message = self.chat(thinking_budget=-1)["choices"][0]["message"]
        self.assertEqual(message["reasoning"], "hm, so")
        body = {"messages": [USER]}
        self.refused(CHAT, {**body, "thinking_budget": -2}, "thinking_budget")
        self.refused(CHAT, {**body, "thinking_budget": 1, "reasoning": {"max_tokens": 2}},
                     "reasoning.max_tokens")

    def test_hidden(self):
        found = self.chat(reasoning={"exclude": True})
        message = found["choices"][0]["message"]
        self.assertNotIn("reasoning", message)
        self.assertEqual(message["content"].strip(), "Hello there!")
        self.assertEqual(found["usage"]["completion_tokens_details"]["reasoning_tokens"], 4)

    def test_switch_that_the_template_lacks(self):
        warning, = self.chat(enable_thinking=False)["warnings"]
        self.assertEqual((warning["param"], warning["code"]), ("enable_thinking", "ignored"))
        self.assertNotIn("warnings", self.chat(enable_thinking=True))


if __name__ == "__main__":
    serving.main()
