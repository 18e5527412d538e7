#!/usr/bin/env python3
"""Tests what a user types and pastes in ingot chat: the model receives it byte for byte.

A session types, pastes and interrupts on terminals of several widths. /save shows what the model
received.
"""
import os
import re
import signal
import termios

import ingot
from chat_talk import CTRL_C, CTRL_D, DOWN, MORE, PROMPT, UP, Talk, TerminalTest, pexpect

WIDTHS = (40, 72, 200)
QUESTION = r"\[c\]ancel\? "
FFFD = "\ufffd"


def pasted(text):
    """A paste as a terminal sends it."""
    return "\x1b[200~" + text.replace("\n", "\r") + "\x1b[201~"


# Typed keys, and the message that they are.
TYPED = [
    ("a\tb \t", "a\tb \t"),
    ("  two spaces  ", "  two spaces  "),
    (b"a\xffb\xe6\xbcc\xf0\x9f", f"a{FFFD}b{FFFD}c{FFFD}"),
    (b"\xed\xa0\x80 \xc0\xaf", f"{FFFD * 3} {FFFD * 2}"),
    ("\u6f22\u5b57 \U0001F600 e\u0301 \u00e9", "\u6f22\u5b57 \U0001F600 e\u0301 \u00e9"),
    ("\u6f22\u5b57" * 90, "\u6f22\u5b57" * 90),
    ("long line " * 60, "long line " * 60),
    ("quoted \x16\x03\x16\x1b\x16\x00\x16\x16\x16\t", "quoted \x03\x1b\x00\x16\t"),
    ("up\x1b[1;5C\x1b[1;5D\x1b[5~\x1b[6~\x1b[2~\x1bOP\x1b[15~\x1b[24;5~per", "upper"),
    ("Ca\x1bu\x1bl\x1bc\x1bd\x1bb\x1bf\x1b\x7f\x1b1\x1b.\x1b\u00e9se", "Case"),
    ("mo\x1b[<0;5;5M\x1b[<0;5;5m\x1b[M !!\x1b[I\x1b[O\x1b]11;rgb:1/2/3\x07use", "mouse"),
    ("con\x00\x07\x0f\x11\x13\x18\x1c\x1d\x1e\x1ftrol", "control"),
    ("lst\x1b[D\x1b[Da\x1b[C\x1b[C!\x1b[H<\x1b[F>", "<last!>"),
    ("e\u0301\u6f22xyz\x1b[D\x1b[D\x1b[D\x1b[3~\x7f-\x05", "e\u0301-yz"),
    ("one two three\x17\x17\x19 \x01zero \x06\x0b.\x15one", "one"),
    ("ab\x14 swap\x04", "ba swap"),
]

# Pastes, and what stands around them.
PASTED = [
    pasted("one\ntwo"),
    pasted("\n\n\tindented\n\n  two\n"),
    pasted("/help\n/quit\n"),
    pasted('"""A docstring.\n"""'),
    pasted('"""A docstring."""'),
    pasted("docker run \\"),
    pasted("a \\\nb \\"),
    pasted("\x03\x04\x1a\x00\x01\x1b[A\x1bOP\x16\x7f\x08\x15"),
    "before " + pasted("one\n\u6f22\u5b57") + " between " + pasted("e\u0301\n") + "behind",
    "before\x1b[D" + pasted(" in\nside ") + "\x05 end",
    pasted("".join(f"line {i}: " + "x" * (i % 97) + "\n" for i in range(60))),
    pasted("x" * 5000),
    pasted("one\rtwo\r\rthree"),
]


def text_of(keys):
    """The message of these pastes and typed letters."""
    keys = re.sub("(.)\x1b\\[D(.*)\x05", "\\2\\1", keys, flags=re.S)
    text = re.sub("\x1b\\[200~(.*?)\x1b\\[201~", lambda m: m[1].replace("\r", "\n"), keys,
                  flags=re.S)
    return text


class Received(TerminalTest):
    """What the model received."""

    def long_talk(self, **how):
        """A chat with short replies and room for many messages."""
        return Talk(self, self.chat, "--ctx", "60000", "--max-tokens", "1", "--log-level", "error",
                    **how)

    def spawn_chat(self):
        """A chat that has just been started."""
        child = pexpect.spawn(ingot.BINARY, ["chat", self.chat], timeout=60, encoding="utf-8",
                              env=ingot.environment({"TERM": "vt100", "HOME": self.home}),
                              preexec_fn=ingot.limited({}, (), ()))
        self.addCleanup(child.close, force=True)
        return child

    def test_what_is_typed(self):
        for columns in WIDTHS:
            talk = self.long_talk(columns=columns)
            for keys, _ in TYPED:
                talk.send(keys)
                talk.say("")
            expected = [message for _, message in TYPED]
            self.assertEqual(talk.messages(self.path("typed.json")), expected, columns)

    def test_what_is_pasted(self):
        for columns in WIDTHS:
            talk = self.long_talk(columns=columns)
            for keys in PASTED:
                talk.send(keys)
                talk.say("")
            expected = [text_of(keys) for keys in PASTED]
            self.assertEqual(talk.messages(self.path("pasted.json")), expected, columns)

    def test_marks_around_a_paste(self):
        talk = self.long_talk()
        talk.say('"""', until=MORE)
        talk.say(pasted('"""\none\n"""'), until=MORE)
        talk.say("", until=MORE)
        talk.say('two"""')
        talk.say(pasted("three\nfour") + "\\", until=MORE)
        talk.say("five")
        talk.say('"""' + pasted("/six\n") + '"""')
        self.assertEqual(talk.messages(self.path("marks.json")),
                         ['"""\none\n"""\n\ntwo', "three\nfour\nfive", "/six\n"])

    def test_ctrl_v_does_not_quote_a_paste(self):
        talk = self.long_talk()
        talk.say("\x16" + pasted("one\ntwo") + "!")
        self.assertEqual(talk.messages(self.path("quoted.json")), ["one\ntwo!"])

    def test_a_paste_that_is_too_long_is_refused_aloud(self):
        talk = self.long_talk()
        talk.send_long("ab" + pasted("x" * ((16 << 20) + 1)))
        talk.wait("at most 16 MiB")
        talk.wait(PROMPT + "ab")
        talk.say("c")
        self.assertEqual(talk.messages(self.path("refused.json")), ["abc"])

    def test_what_is_typed_while_the_model_loads(self):
        child = self.spawn_chat()
        child.expect(r"\x1b\[\?2004h")
        self.assertNotIn("loading", child.before)
        child.expect("loading")
        child.expect(PROMPT)

    def test_keys_cut_in_the_middle(self):
        talk = self.long_talk()
        for part in (b"\xe6", b"\xbc", b"\xa2\x1b", b"[20", b"0~a\rb\x1b[2", b"01", b"~\x1b[1;",
                     b"5Cc"):
            talk.send(part)
        talk.say("")
        self.assertEqual(talk.messages(self.path("cut.json")), ["\u6f22a\nbc"])

    def test_an_escape_during_a_reply_keeps_the_next_key(self):
        talk = self.talk("--ctx", "60000", "--log-level", "error")
        talk.say("/set max_tokens 50000")
        talk.send("go on\r")
        talk.wait("go on\r\n.")
        talk.send("\x1b")
        talk.let_it_read()
        talk.send("escaped" + CTRL_C)
        talk.wait(r"\(stopped\)\r\n")
        talk.wait(PROMPT + "escaped")

    def test_a_resize_in_the_middle_of_a_line(self):
        talk = self.long_talk(columns=72)
        talk.send("a long line that has more characters than forty columns ")
        talk.wait("columns ")
        talk.child.setwinsize(24, 40)
        talk.send("alpha")
        talk.wait("alpha")
        talk.child.setwinsize(2, 200)
        talk.send(pasted("\nand\nomega"))
        talk.wait("omega")
        talk.say("")
        self.assertEqual(talk.messages(self.path("resized.json")), [
            "a long line that has more characters than forty columns alpha\nand\nomega"])

    def test_a_very_long_paste(self):
        letters = "".join(chr(0x20 + i) + "\u6f22" * (i % 7 == 0) for i in range(90))
        text = "<" + letters * 9000
        talk = self.long_talk()
        talk.send_long("/system " + pasted(text) + "\r")
        talk.wait(PROMPT)
        talk.send_long("ab\x1b[D" + pasted("lines\n" * 150_000) + "\r")
        talk.wait(QUESTION)
        talk.say("c")
        self.assertEqual(talk.saved(self.path("long.json")), [("system", text)])

    def test_lines_typed_ahead_arrive_in_order(self):
        """As a terminal without bracketed paste sends several lines."""
        for columns in WIDTHS:
            talk = self.long_talk(columns=columns)
            lines = [f"line {i} \u6f22" + "x" * 50 for i in range(8)]
            talk.send("\r".join(lines) + "\r")
            for _ in lines:
                talk.wait(PROMPT)
            self.assertEqual(talk.messages(self.path("ahead.json")), lines, columns)

    def test_what_is_typed_during_a_reply_waits_for_the_prompt(self):
        talk = self.talk("--ctx", "60000", "--log-level", "error")
        talk.say("/set max_tokens 50000")
        talk.send("go on\r")
        talk.wait("go on\r\n.")
        talk.send("/set max_tokens 1\rtyped\t" + pasted("two\nlines") + " ahead" + CTRL_C)
        talk.wait(r"\(stopped\)\r\n")
        talk.wait(PROMPT)
        talk.wait("ahead")
        talk.say("!")
        self.assertEqual(talk.messages(self.path("during.json")),
                         ["go on", "typed\ttwo\nlines ahead!"])
        self.assertNotIn("^C", talk.raw)

    def test_keys_typed_ahead_do_not_answer_a_question(self):
        talk = self.talk("--ctx", "128", "--log-level", "error")
        talk.send("x" * 200 + "\r" + "n\r" + "hello\r")
        talk.wait(QUESTION)
        talk.say("c")
        talk.wait(PROMPT)
        talk.wait(PROMPT)
        self.assertEqual(talk.messages(self.path("question.json")), ["n", "hello"])


class History(TerminalTest):
    def test_a_message_of_several_lines_is_one_entry_also_in_the_next_session(self):
        talk = self.talk()
        talk.say(pasted("one\n\n\ttwo \\\n"))
        talk.say('"""', until=MORE)
        talk.say('/three"""')
        talk.say(pasted('"""four"""'))
        expected = ["one\n\n\ttwo \\\n", "/three", '"""four"""']
        self.assertEqual(talk.messages(self.path("history.json")), expected)
        talk.leave(CTRL_D)
        talk = self.talk()
        for part in ("two", "three", "four"):
            talk.say("\x12" + part)
        self.assertEqual(talk.messages(self.path("history.json")), expected)

    def test_the_arrow_keys_move_in_a_message_and_then_to_others(self):
        talk = self.talk()
        talk.say("first")
        talk.say(pasted("two\nlines"))
        talk.say("new" + UP + UP + "\x01>" + UP + "!" + "\x1b[B" + "\x1b[B" + "\x1b[B?")
        self.assertEqual(talk.messages(self.path("arrows.json"))[2:], ["new?"])

    def test_an_earlier_message_is_found_by_a_part(self):
        talk = self.talk()
        for message in ("the cat sat", "a dog", "another cat"):
            talk.say(message)
        talk.say("\x12cat\x12\x05!")
        talk.say("\x12dgo\x7f\x7fog\x07new")
        self.assertEqual(talk.messages(self.path("found.json"))[3:], ["the cat sat!", "new"])

    def test_drafts_and_edited_messages_stay_until_enter(self):
        talk = self.talk()
        for message in ("the cat sat", "a dog"):
            talk.say(message)
        talk.say("draft\x12cat" + "\x1b[C" + DOWN + DOWN + "!")
        talk.say("draft" + UP + UP + "\x05?" + DOWN + DOWN + UP + UP + "\x12cat\x07")
        self.assertEqual(talk.messages(self.path("drafts.json"))[2:], ["draft!", "a dog?"])


class Modes(TerminalTest):
    """What the terminal is set to during a chat, and after its end."""

    SET = (termios.ECHO, termios.ICANON, termios.ISIG, termios.IEXTEN)

    def modes(self, child):
        """The terminal's modes; the terminal stays open after the program's end."""
        tty = os.open(os.readlink(f"/proc/{child.pid}/fd/0"), os.O_RDWR | os.O_NOCTTY)
        self.addCleanup(os.close, tty)
        return lambda: [bool(termios.tcgetattr(tty)[3] & flag) for flag in self.SET]

    def end(self, number, is_replying):
        """Ends a chat by a signal, or by keys."""
        talk = self.talk("--ctx", "60000", "--log-level", "error")
        modes = self.modes(talk.child)
        self.assertEqual(modes(), [False] * 4)
        if is_replying:
            talk.say("/set max_tokens 50000")
            talk.send("go on\r")
            talk.wait("go on\r\n.")
            self.assertEqual(modes(), [False] * 4)
        if number is not None:
            talk.child.kill(number)
            if number == signal.SIGTERM:  # the second one ends the program wherever it is
                talk.child.kill(number)
        else:
            talk.send(CTRL_C + CTRL_D if is_replying else "/quit\r")
        talk.wait(r"\x1b\[\?2004l")
        ingot.eventually("the end", lambda: not talk.child.isalive())
        self.assertEqual(modes(), [True] * 4, (number, is_replying))

    def test_every_end_restores_them(self):
        for number in (None, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGABRT):
            for is_replying in (False, True):
                self.end(number, is_replying)
        for number in (signal.SIGBUS, signal.SIGTRAP, signal.SIGSYS, signal.SIGXCPU):
            self.end(number, False)

    def test_two_programs_on_one_terminal_restore_it(self):
        master, slave = os.openpty()
        self.addCleanup(os.close, master)
        self.addCleanup(os.close, slave)
        os.set_blocking(master, False)
        shown = bytearray()

        def show():
            try:
                shown.extend(os.read(master, 1 << 16))
            except BlockingIOError:
                pass
            return bytes(shown)

        def echoes():
            return bool(termios.tcgetattr(slave)[3] & termios.ECHO)
        self.assertTrue(echoes())
        for is_first_over_first in (True, False):
            running = []
            for prompt in ("one hand", "two clocks"):
                shown.clear()
                running.append(ingot.start("run", self.chat, "-p", prompt, "--ctx", "60000",
                                           "--max-tokens", "50000", stdout=slave))
                self.addCleanup(running[-1].kill)
                ingot.eventually("a reply", lambda: prompt.encode() in show())
                self.assertFalse(echoes())
            for process in running if is_first_over_first else running[::-1]:
                process.send_signal(signal.SIGINT)
                ingot.eventually("the end", lambda: show() and process.poll() is not None)
                process.communicate()
            self.assertTrue(echoes(), is_first_over_first)

    def test_a_suspended_chat_gives_the_terminal_to_the_shell(self):
        wrapper = self.file("wrap.sh", b'"$@"\necho over\n')
        for command in ingot.BINARY, f"/bin/sh {wrapper} {ingot.BINARY}":
            self.suspend(command)

    def suspend(self, command):
        """A job that runs ingot alone, or in a program that waits for it."""
        if not os.path.exists("/bin/bash"):
            self.skipTest("there is no bash")
        talk = Talk.__new__(Talk)
        talk.columns, talk.raw = 200, ""
        talk.child = pexpect.spawn(
            "/bin/bash", ["--norc", "--noprofile", "-i"], timeout=60, encoding="utf-8",
            env=ingot.environment({"TERM": "vt100", "HOME": self.home, "PS1": "shell> "}),
            dimensions=(24, 200), preexec_fn=ingot.limited({}, (), ()))
        self.addCleanup(talk.child.close, force=True)
        talk.wait("shell> ")
        talk.send(f"{command} chat {self.chat} --max-tokens 50000 --ctx 60000 "
                  "--log-level error\r")
        talk.wait(PROMPT)
        talk.send("half" + "\x1a")
        talk.wait("Stopped")
        talk.wait("shell> ")
        self.assertIn("\x1b[?2004l", talk.raw[talk.raw.rindex("half"):])
        talk.send("fg\r")
        talk.wait(PROMPT + "half")
        talk.send(" a message\r")
        talk.wait("message\r\n.")
        talk.send("next\x1a")
        talk.wait("Stopped")
        talk.wait("shell> ")
        talk.send("fg\r")
        talk.wait(r"\x1b\[\?2004h")
        talk.send(CTRL_C)
        talk.wait("next")
        talk.send("\x15/set max_tokens 1\r")
        talk.wait(r"max_tokens 1\r\n")  # the chat may show a line again when it continues
        talk.wait(PROMPT)
        self.assertEqual(talk.messages(self.path("suspended.json")), ["half a message"])

    def test_ctrl_c_is_not_echoed_into_a_reply_of_run(self):
        child = pexpect.spawn(ingot.BINARY, ["run", self.chat, "-p", "go on", "--ctx", "60000",
                                             "--max-tokens", "50000"], timeout=60, encoding="utf-8",
                              env=ingot.environment(), preexec_fn=ingot.limited({}, (), ()))
        self.addCleanup(child.close, force=True)
        modes = self.modes(child)
        child.expect("go on.")
        self.assertEqual(modes(), [False, True, True, True])
        child.send(CTRL_C)
        shown = [child.after]

        def has_ended():
            try:
                shown.append(child.read_nonblocking(1 << 16, timeout=0))
            except (pexpect.TIMEOUT, pexpect.EOF):
                pass
            return not child.isalive()
        ingot.eventually("the end", has_ended)
        self.assertNotIn("^C", "".join(shown))
        self.assertEqual(modes(), [True] * 4)
        child.close()
        self.assertEqual(child.exitstatus, 130)


if __name__ == "__main__":
    ingot.main()
