"""Tests chats as input of ingot run, and ingot template as scripts use it."""
import json
import unittest

from ingot import CHECK_FAILED, DONE, MODEL, USAGE, CliTest, run

CHAT = [{"role": "user", "content": "hello <|im_end|>"}]
CHATML = "<|im_start|>user\nhello <|im_end|><|im_end|>\n<|im_start|>assistant\n"


class MessagesTest(CliTest):
    def messages(self, chat, *args):
        path = self.file("chat.json", json.dumps(chat).encode())
        return run("run", self.model, "--messages", path, "--max-tokens", "2", *args)

    def test_a_chat_goes_through_the_template(self):
        result = self.messages({"messages": CHAT}, "--template", "chatml", "--json")
        self.assertEqual(result.code, DONE, result)
        # The model has no such special tokens, so that the prompt is the text that it is.
        text = run("run", self.model, "-p", CHATML, "--max-tokens", "2", "--json")
        self.assertEqual(json.loads(result.out)["prompt_ids"], json.loads(text.out)["prompt_ids"])

    def test_messages_alone_are_a_chat(self):
        flags = ("--template", "chatml", "--json")
        whole = self.one_json(self.assert_done(self.messages({"messages": CHAT}, *flags)))
        alone = self.one_json(self.assert_done(self.messages(CHAT, *flags)))
        self.assertEqual(alone["digest"], whole["digest"])
        self.assertEqual(alone["prompt_ids"], whole["prompt_ids"])

    def test_lines_may_be_chats(self):
        lines = [{"messages": CHAT, "max_tokens": 2}, {"prompt": CHATML, "max_tokens": 2},
                 {"messages": CHAT, "prompt": "a"}, {"messages": 1}]
        path = self.file("lines", "".join(json.dumps(l) + "\n" for l in lines).encode())
        with open(path, "rb") as stdin:
            result = run("run", self.model, "--jsonl", "--template", "chatml", stdin=stdin)
        self.assertEqual(result.code, CHECK_FAILED, result)
        found = [json.loads(line) for line in result.out.splitlines()]
        self.assertEqual(found[0]["prompt_ids"], found[1]["prompt_ids"])
        self.assertIn("exactly one of", found[2]["error"])
        self.assertIn("messages: expected an array", found[3]["error"])

    def test_system_messages_that_the_template_cannot_express(self):
        first = "{{ messages[0].content }}|{% for m in messages[1:] if m.role != 'system' %}" \
                "{{ m.content }}|{% endfor %}"
        flags = ("--template", self.file("first.jinja", first.encode()), "--json")
        said = [{"role": role, "content": text}
                for role, text in (("system", "a"), ("developer", "b"), ("user", "c"))]
        result = self.assert_done(self.messages({"messages": said}, *flags))
        self.assertIn("warning: messages: the chat template writes one system message", result.err)
        text = run("run", self.model, "-p", "a\n\nb|c|", "--max-tokens", "2", "--json")
        self.assertEqual(json.loads(result.out)["prompt_ids"], json.loads(text.out)["prompt_ids"])
        later = {"messages": [said[0], said[2], said[1]]}
        self.assert_error(self.messages(later, *flags), USAGE, "messages[2]", "user message")

    def test_a_model_without_template_says_what_to_do(self):
        line = self.assert_error(self.messages({"messages": CHAT}), MODEL)
        self.assertIn("--template takes a file or a built-in one (chatml", line)

    def test_chats_are_checked(self):
        for chat, expected in ((1, "expected an object or an array"),
                               ([1], "messages[0]: expected"), ({}, "messages: missing"),
                               ({"messages": CHAT, "x": 1}, "unknown member x"),
                               ({"messages": [{"content": "a"}]}, "no role"),
                               ({"messages": CHAT, "tools": {}}, "tools: expected an array"),
                               ({"messages": CHAT, "chat_template_kwargs": {"tokenize": True}},
                                'chat_template_kwargs["tokenize"]: it cannot be set')):
            with self.subTest(chat=chat):
                self.assertIn(expected, self.assert_error(
                    self.messages(chat, "--template", "chatml"), USAGE))

    def test_a_template_renders_lines(self):
        path = self.file("t.jinja", b"{{ x }}{{ raise_exception('no') if y }}")
        lines = self.file("contexts", b'\xef\xbb\xbf{"x": 1.0}\r\n{"y": 1}\n\n[]\n \t\r\n{\n')
        with open(lines, "rb") as stdin:
            result = run("template", "--template", path, "--jsonl", stdin=stdin)
        self.assertEqual(result.code, DONE, result)
        found = [json.loads(line) for line in result.out.splitlines()]
        self.assertEqual(found[0], {"text": "1.0"})
        for line, expected in zip(found[1:], ("refused: no", "expected an object", "line 6 ")):
            self.assertIn(expected, line["error"])

    def test_a_template_renders_a_file(self):
        path = self.file("t.jinja", b"{{ strftime_now('%d %b %Y') }}{{ x }}")
        context = self.file("context.json", b'{"x": "!"}')
        result = run("template", "--template", path, "--context", context, "--now", "2024-07-26")
        self.assertEqual((result.code, result.out), (DONE, b"26 Jul 2024!"), result)

    def test_wrong_use_of_templates(self):
        path = self.file("t.jinja", b"{% if %}")
        context = self.file("context.json", b"{}")
        for code, args in ((MODEL, ("--template", path, "--context", context)),
                           (MODEL, ("--template", self.path("none"), "--context", context)),
                           (MODEL, (self.model, "--context", context)),
                           (MODEL, ("--template", "chatml", "--context", self.path("none"))),
                           (USAGE, ("--template", "chatml")),
                           (USAGE, (self.model, "--template", "chatml", "--context", context)),
                           (USAGE, ("--template", "chatml", "--context", context, "--jsonl")),
                           (USAGE, ("--template", "chatml", "--context", context, "--now", "x")),
                           (USAGE, ("--template", "chatml", "--context", context, "--now",
                                    "2023-02-29"))):
            with self.subTest(args=args):
                self.assert_error(run("template", *args), code)


if __name__ == "__main__":
    unittest.main()
