"""Tests chats as input of ingot run, and ingot template as scripts use it."""
import json
import unittest

import model_files
from ingot import CHECK_FAILED, DONE, MODEL, USAGE, CliTest, run
from model_files import ARRAY, INT32, STRING

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


PLAIN = "P{% for m in messages %}{{ m.content }}{% endfor %}"
TOOLS = "T{% for t in tools %}{{ t.function.name }}{% endfor %}"
RAG = "R{{ messages | length }}"
FUNCTION = {"type": "function", "function": {"name": "f"}}
WITH_TOOLS, WITHOUT = {"messages": CHAT, "tools": [FUNCTION]}, {"messages": CHAT, "tools": []}


class NamedTemplates(CliTest):
    """A model with the templates default, tool_use and rag."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        model = model_files.tiny_gguf()
        model.set("tokenizer.chat_template", STRING, PLAIN)
        model.set("tokenizer.chat_template.tool_use", STRING, TOOLS)
        model.set("tokenizer.chat_template.rag", STRING, RAG)
        model.set("tokenizer.chat_templates", (ARRAY, STRING), ["tool_use", "rag"])
        cls.named = cls.file("named.gguf", model.build())
        model.metadata = [m for m in model.metadata if m[0] != "tokenizer.chat_template"]
        cls.several = cls.file("several.gguf", model.build())

    def prompt(self, chat, *args, model=None):
        """The prompt's tokens, from run."""
        path = self.file("chat.json", json.dumps(chat).encode())
        result = run("run", model or self.named, "--messages", path, "--json", "--max-tokens", "1",
                     *args)
        return self.one_json(self.assert_done(result))["prompt_ids"]

    def ids(self, text):
        result = run("run", self.named, "-p", text, "--json", "--max-tokens", "1")
        return self.one_json(self.assert_done(result))["prompt_ids"]

    def test_tools_choose_the_template(self):
        self.assertEqual(self.prompt(WITHOUT), self.ids("Phello <|im_end|>"))
        self.assertEqual(self.prompt({"messages": CHAT}), self.ids("Phello <|im_end|>"))
        self.assertEqual(self.prompt(WITH_TOOLS), self.ids("Tf"))
        self.assertEqual(self.prompt(WITH_TOOLS, "--template-name", "default"),
                         self.ids("Phello <|im_end|>"))
        self.assertEqual(self.prompt(WITHOUT, "--template-name", "rag"), self.ids("R1"))

    def test_each_line_has_its_own(self):
        lines = [{**chat, "max_tokens": 1, "choice": ["a"]} for chat in (WITH_TOOLS, WITHOUT)]
        path = self.file("lines", "".join(json.dumps(l) + "\n" for l in lines).encode())
        with open(path, "rb") as stdin:
            result = run("run", self.named, "--jsonl", stdin=stdin)
        self.assertEqual(result.code, DONE, result)
        found = [json.loads(line)["prompt_ids"] for line in result.out.splitlines()]
        self.assertEqual(found, [self.ids("Tf"), self.ids("Phello <|im_end|>")])

    def test_the_command_template(self):
        for chat, args, expected in ((WITH_TOOLS, (), "Tf"), (WITHOUT, (), "Phello <|im_end|>"),
                                     (WITH_TOOLS, ("--template-name", "rag"), "R1")):
            path = self.file("context.json", json.dumps(chat).encode())
            result = run("template", self.named, "--context", path, *args)
            self.assertEqual((result.code, result.out.decode()), (DONE, expected), result)

    def test_each_template_may_name_an_end(self):
        model = model_files.tiny_gguf()
        pieces = list(model.get("tokenizer.ggml.tokens"))
        types = list(model.get("tokenizer.ggml.token_type"))
        pieces[-2:], types[-2:] = ["<|done|>", "<|called|>"], [model_files.tiny.CONTROL] * 2
        model.set("tokenizer.ggml.tokens", (ARRAY, STRING), pieces)
        model.set("tokenizer.ggml.token_type", (ARRAY, INT32), types)
        for key, end in (("", "<|done|>"), (".tool_use", "<|called|>")):
            model.set("tokenizer.chat_template" + key, STRING,
                      "{% for m in messages %}{{ m.content }}" + end + "{% endfor %}")
        found = self.one_json(run("inspect", self.file("ends.gguf", model.build()), "--json"))
        self.assertEqual([(end["text"], end["source"]) for end in found["end_tokens"]][1:],
                         [("<|done|>", "chat template"), ("<|called|>", "chat template")])

    def test_names_that_are_none(self):
        chat = self.file("chat.json", json.dumps(WITHOUT).encode())
        for name in ("nope", "", "tool_us", "\x1b"):
            for command in (("run", self.named, "--messages", chat), ("chat", self.named),
                            ("template", self.named, "--context", chat),
                            ("serve", self.named, "--port", "0")):
                line = self.assert_error(run(*command, "--template-name", name), USAGE)
                self.assertIn("it has: default, tool_use, rag", line)
        self.assert_error(run("chat", self.model, "--template-name", "default"), USAGE,
                          "it has: none")
        for command in (("run", self.named, "--messages", chat), ("chat", self.named),
                        ("template", "--context", chat), ("serve", self.named, "--port", "0")):
            self.assert_error(run(*command, "--template-name", "rag", "--template", "chatml"),
                              USAGE, "--template excludes --template-name")
        self.assert_error(run("run", self.named, "-p", "a", "--template-name", "rag"), USAGE,
                          "--template-name needs --messages or --jsonl")

    def test_several_without_a_default(self):
        chat = self.file("chat.json", json.dumps(WITHOUT).encode())
        self.assert_error(run("run", self.several, "--messages", chat), USAGE,
                          "no default chat template; name one with --template-name: tool_use, rag")
        self.assertEqual(self.prompt(WITHOUT, "--template-name", "rag", model=self.several),
                         self.ids("R1"))

    def test_tools_need_no_default(self):
        self.assertEqual(self.prompt(WITH_TOOLS, model=self.several), self.ids("Tf"))

    def test_a_history_with_calls_takes_the_tools_template(self):
        call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": {}}}
        history = [*CHAT, {"role": "assistant", "content": "", "tool_calls": [call]}]
        self.assertEqual(self.prompt({"messages": history}), self.ids("T"))

    def test_a_broken_template_refuses_its_chats_alone(self):
        model = model_files.tiny_gguf()
        model.set("tokenizer.chat_template", STRING, PLAIN)
        model.set("tokenizer.chat_template.tool_use", STRING, "{% if %}")
        model.set("tokenizer.chat_templates", (ARRAY, STRING), ["tool_use"])
        broken = self.file("broken.gguf", model.build())
        plain = self.file("plain.json", json.dumps(WITHOUT).encode())
        tools = self.file("tools.json", json.dumps(WITH_TOOLS).encode())
        result = self.assert_done(run("run", broken, "--messages", plain, "--max-tokens", "1"))
        self.assertEqual(result.err.count("chats with tools are refused"), 1, result)
        self.assertEqual(self.assert_done(run("template", broken, "--context", plain)).out,
                         b"Phello <|im_end|>")
        for command, option in (("run", "--messages"), ("template", "--context")):
            self.assert_error(run(command, broken, option, tools), MODEL,
                              "broken.gguf (tool_use): chat template")

    def test_they_are_listed_and_kept(self):
        out = self.path("kept.gguf")
        self.assert_done(run("quantize", self.named, out, "--type", "F16"))
        for path in (self.named, out):
            self.assertIn(b"\nchat templates\n  default, tool_use, rag\n", run("inspect", path).out)
            found = self.one_json(self.assert_done(run("inspect", path, "--json")))
            self.assertEqual(found["chat_templates"], ["default", "tool_use", "rag"])
        self.assertEqual(self.prompt(WITH_TOOLS, model=out), self.ids("Tf"))


if __name__ == "__main__":
    unittest.main()
