#!/usr/bin/env python3
"""Tests ingot chat in a pipe: one message per line, only replies on stdout, and refused input."""
import os
import signal
import subprocess

import chat_model
import ingot

GREEDY = ("--temperature", "0", "--max-tokens", "12")


class ChatTest(ingot.CliTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.chat = cls.file("chat.gguf", chat_model.chat_model().build())

    def talk(self, text, *flags, model=None):
        process = ingot.start("chat", model or self.chat, *flags, stdin=subprocess.PIPE)
        process.stdin.write(text.encode() if isinstance(text, str) else text)
        return ingot.finish(process)

    def reply_of_run(self, messages, *flags):
        """What `ingot run` says to the text that the template makes of these messages."""
        result = self.assert_done(ingot.run("run", self.chat, "-p", chat_model.render(messages),
                                            "--no-special", "--json", *flags))
        return self.one_json(result)["text"]


class Pipe(ChatTest):
    def test_replies_are_those_of_the_rendered_conversation(self):
        result = self.assert_done(self.talk("hello\nand now\n", "--system", "be odd", *GREEDY))
        messages = [("system", "be odd"), ("user", "hello")]
        first = self.reply_of_run(messages, *GREEDY)
        messages += [("assistant", first), ("user", "and now")]
        second = self.reply_of_run(messages, *GREEDY)
        self.assertEqual(result.out.decode(), f"{first}\n{second}\n")

    def test_a_line_is_a_message_whatever_is_in_it(self):
        for line in ("/quit", "/save x.json", '"""', "a\\", "{{ 1 }}", "<s></s>"):
            with self.subTest(line=line):
                result = self.assert_done(self.talk(line, *GREEDY))
                expected = self.reply_of_run([("user", line)], *GREEDY)
                self.assertEqual(result.out.decode(), expected + "\n")

    def test_blank_lines_and_no_lines_are_no_messages(self):
        one = self.assert_done(self.talk("hello\n", *GREEDY)).out
        self.assertEqual(self.assert_done(self.talk("\n  \nhello\n\r\n\n", *GREEDY)).out, one)
        self.assertEqual(self.assert_done(self.talk("", *GREEDY)).out, b"")

    def test_line_ends_and_a_byte_order_mark_are_no_message(self):
        plain = self.assert_done(self.talk("hello\nand now\n", *GREEDY)).out
        for text in (b"\xef\xbb\xbfhello\nand now\n", b"hello\r\nand now\r\n",
                     b"\xef\xbb\xbf\r\nhello\r\n\r\nand now"):
            with self.subTest(text=text):
                self.assertEqual(self.assert_done(self.talk(text, *GREEDY)).out, plain)
        inside = self.assert_done(self.talk("he\r\ufeffllo\n", *GREEDY)).out.decode()
        self.assertEqual(inside, self.reply_of_run([("user", "he\r\ufeffllo")], *GREEDY) + "\n")

    def test_a_reply_that_the_context_cut_says_so(self):
        flags = ("--temperature", "0", "--ignore-eos")
        cut = "the context of 60 tokens cut the reply: --ctx makes it larger"
        piped = self.talk("\nhello\nnever\n", "--ctx", "60", *flags)
        self.assertEqual(piped.out.count(b"\n"), 1)
        self.assert_error(piped, ingot.CHECK_FAILED, f"error: line 2: {cut}", out=piped.out)
        once = ingot.run("chat", self.chat, "-p", "hello", "--ctx", "60", *flags)
        self.assert_error(once, ingot.CHECK_FAILED, f"error: {cut}", out=piped.out)
        # --max-tokens ends a reply as the user wished.
        self.assert_done(self.talk("hello\n", "--ctx", "60", "--max-tokens", "20", *flags))

    def test_a_reply_does_not_wait_for_the_next_line(self):
        process = ingot.start("chat", self.chat, *GREEDY, stdin=subprocess.PIPE, bufsize=0)
        self.addCleanup(ingot.stop, process)
        self.addCleanup(process.stdin.close)
        for _ in range(2):
            process.stdin.write(b"hello\n")
            while process.stdout.read(1) != b"\n":
                pass
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(ingot.TIMEOUT_S), 130)

    def test_equal_seeds_draw_equal_replies(self):
        flags = ("--temperature", "1", "--max-tokens", "12")
        talk = "hello\nhello\n"
        one = self.assert_done(self.talk(talk, "--seed", "1", *flags)).out
        self.assertEqual(self.assert_done(self.talk(talk, "--seed", "1", *flags)).out, one)
        self.assertNotEqual(self.assert_done(self.talk(talk, "--seed", "2", *flags)).out, one)

    def test_a_full_context_is_an_error(self):
        result = self.talk("hello\n" * 20, "--ctx", "100", "--max-tokens", "4")
        self.assertEqual(result.code, ingot.USAGE, result)
        self.assertRegex(result.err, "error: line [0-9]+: the conversation takes [0-9]+ of 100 "
                                     "tokens, the context is full: --ctx makes it larger\n")

    def test_bytes_that_are_no_text(self):
        self.assert_done(self.talk(bytes(range(256)) + b"\n\xff\xfe\n\x00", "--ctx", "3000",
                                   *GREEDY))

    def test_settings_of_the_model(self):
        # Temperature 0 from the file draws the same whatever the seed.
        model = chat_model.chat_model().set("general.sampling.temp", 6, 0.0)
        path = self.file("cold.gguf", model.build())
        flags = ("--max-tokens", "12")
        one = self.assert_done(self.talk("hello\n", "--seed", "1", *flags, model=path)).out
        two = self.assert_done(self.talk("hello\n", "--seed", "2", *flags, model=path)).out
        self.assertEqual(one, two)
        warm = self.talk("hello\n", "--seed", "2", "--temperature", "5", *flags, model=path)
        self.assertNotEqual(self.assert_done(warm).out, one)

    def test_mirostat_is_no_setting_of_the_model(self):
        model = chat_model.chat_model().set("general.sampling.mirostat", 5, 1)
        path = self.file("mirostat.gguf", model.build())
        self.assert_done(self.talk("hello\n", "--max-tokens", "4", model=path))

    def test_without_a_template(self):
        last = self.assert_error(ingot.run("chat", self.model), ingot.MODEL, "chat template")
        self.assertIn("--template", last)
        result = self.assert_done(self.talk("hello\n", "--template", "chatml", *GREEDY,
                                            model=self.model))
        self.assertTrue(result.out.endswith(b"\n"))
        self.assert_error(ingot.run("chat", self.model, "--template", "no-such"), ingot.MODEL,
                          "no-such", "chatml")

    def test_a_template_of_a_file(self):
        path = self.file("short.jinja", chat_model.TEMPLATE.encode())
        result = self.assert_done(self.talk("hello\n", "--template", path, *GREEDY,
                                            model=self.model))
        self.assertEqual(result.out, self.assert_done(self.talk("hello\n", *GREEDY)).out)

    def test_tools_need_a_chat_on_a_terminal(self):
        path = self.file("tools.json", b"[]")
        for more in ((), ("-p", "hello")):
            self.assert_error(ingot.run("chat", self.chat, "--tools", path, *more), ingot.USAGE,
                              "--tools needs a chat on a terminal: the chat asks before")

    def test_a_template_without_system_message(self):
        refusing = "{% if messages[0].role == 'system' %}{{ raise_exception('no') }}{% endif %}"
        path = self.file("no-system.jinja", (refusing + chat_model.TEMPLATE).encode())
        result = self.assert_done(self.talk("hello\nand now\n", "--system", "be odd", "--template",
                                            path, *GREEDY))
        self.assertEqual(result.err.count("warning: the chat template has no system message"), 1)
        messages = [("user", "be odd\n\nhello")]
        first = self.reply_of_run(messages, *GREEDY)
        messages += [("assistant", first), ("user", "and now")]
        second = self.reply_of_run(messages, *GREEDY)
        self.assertEqual(result.out.decode(), f"{first}\n{second}\n")

    def test_a_template_that_refuses(self):
        path = self.file("refuses.jinja", b"{{ raise_exception('no \x1b[2J system') }}")
        result = self.talk("hello\n", "--template", path)
        self.assertEqual(result.code, ingot.USAGE, result)
        self.assertNotIn("\x1b", result.err)
        self.assertIn("system", result.err)


class OneReply(ChatTest):
    """-p, -f and - print the reply to one message, and end."""

    def once(self, *args, text=None):
        if text is None:
            return ingot.run("chat", self.chat, *GREEDY, *args)
        return self.talk(text, *GREEDY, *args)

    def test_the_reply_alone(self):
        message = "hello\n\nin two lines"
        expected = self.reply_of_run([("system", "be odd"), ("user", message)], *GREEDY) + "\n"
        system = ("--system", "be odd")
        found = self.assert_done(self.once("-p", message, *system))
        self.assertEqual((found.out.decode(), found.err), (expected, ""))
        # One line break at the end of a file is not part of the message.
        for ending in ("", "\n", "\r\n"):
            content = (message + ending).encode()
            path = self.file("message.txt", b"\xef\xbb\xbf" + content)
            found = [self.once("-f", path, *system), self.once("-f", "-", *system, text=content),
                     self.once("-", *system, text=content)]
            for result in found:
                self.assertEqual(self.assert_done(result).out.decode(), expected)
        two = self.once("-", text=message + "\n\n")
        self.assertEqual(self.assert_done(two).out.decode(),
                         self.reply_of_run([("user", message + "\n")], *GREEDY) + "\n")

    def test_on_a_terminal(self):
        host, terminal = os.openpty()
        with os.fdopen(host, "rb", buffering=0) as shown:
            process = ingot.start("chat", self.chat, *GREEDY, "-p", "hello", stdin=terminal,
                                  stdout=terminal)
            os.close(terminal)
            self.assert_done(ingot.finish(process))
            expected = self.reply_of_run([("user", "hello")], *GREEDY)
            self.assertEqual(shown.read(65536).decode(), expected + "\r\n")

    def test_the_built_in_model(self):
        flags = ("--max-tokens", "5", "--temperature", "0")
        named = self.assert_done_with_info(ingot.run("chat", "-p", "Hello", *flags))
        process = ingot.start("chat", "-", *flags, stdin=subprocess.PIPE)
        process.stdin.write(b"Hello\n")
        self.assertEqual(self.assert_done_with_info(ingot.finish(process)), named)

    def assert_done_with_info(self, result):
        self.assertEqual(result.code, ingot.DONE, result)
        self.assertIn("info: using ingot-demo", result.err)
        return result.out

    def test_constraints(self):
        schema = self.file("schema.json", b'{"enum": ["yes please", "no thanks"]}')
        args = ("chat", self.chat, "-p", "hello", "--max-tokens", "100")
        found = self.assert_done(ingot.run(*args, "--json-schema", schema))
        self.assertIn(found.out.decode(), ('"yes please"\n', '"no thanks"\n'))
        found = self.assert_done(ingot.run(*args, "--regex", "[ab]{4}!"))
        self.assertRegex(found.out.decode(), r"^[ab]{4}!\n$")
        self.assert_error(self.once("--choice", "a,b"), ingot.USAGE, "--choice", "give -p")

    def test_wrong_use(self):
        empty = self.file("empty.txt", b"\n")
        for args, says in ((("-p", "a", "-f", empty), "one of -p, -f and -"),
                           (("-", "-p", "a"), "one of -p, -f and -"),
                           (("-", "-f", empty), "one of -f and -"),
                           (("-f", empty), "the prompt is blank"), (("-p", " \n"), "is blank"),
                           (("hello",), "-p TEXT and -f FILE give a prompt"),
                           (("-", "--template", "-"), "--template and - both read standard input"),
                           (("--template", "/dev/stdin"), "--template and the chat both read")):
            with self.subTest(args=args):
                self.assert_error(self.once(*args), ingot.USAGE, says)
        self.assert_error(self.once("-f", self.path("none")), ingot.MODEL, "no such file")
        self.assert_error(ingot.run("chat", "-", "-"), ingot.USAGE, "expected MODEL and then -")
        last = self.assert_error(self.once("-p", "hello " * 100, "--ctx", "100"), ingot.USAGE)
        self.assertRegex(last, "^error: the conversation takes [0-9]+ of 100 tokens, the context "
                               "is full: --ctx makes it larger$")


if __name__ == "__main__":
    ingot.main()
