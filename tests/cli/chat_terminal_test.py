#!/usr/bin/env python3
"""Tests ingot chat on a terminal: the transcript of a scripted session, and the effect of keys.

No test sleeps: every step waits for output of the program. INGOT_ACCEPT=1 writes a new transcript,
which a person reads before it is committed.
"""
import json
import os
import re
import stat

import chat_model
import ingot
from chat_talk import CTRL_C, CTRL_D, MORE, PROMPT, UP, Talk, TerminalTest, pexpect
from screen import shown

TRANSCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "chat_transcript.txt")


class Session(TerminalTest):
    """One long session, and its transcript."""

    def stop_a_reply(self, talk):
        """Presses Ctrl-C somewhere in a long reply. The text until then is left out of the
        transcript, since its length varies."""
        talk.say("/set max_tokens 100000")
        start = len(talk.raw)
        talk.send("Tell me everything.\r")
        talk.wait(r"everything\.\r\n.")
        talk.send(CTRL_C)
        talk.wait(r"\(stopped\)\r\n")
        talk.raw = talk.raw[:start] + "Tell me everything.\r\n(stopped)\r\n"
        talk.wait(PROMPT)
        talk.say("/set max_tokens 12")
        talk.raw = talk.raw[:start] + re.sub(r"\[\d+/", "[.../", talk.raw[start:])

    def session(self):
        saved = self.path("saved.json")
        talk = self.talk("--ctx", "100000", "--log-level", "error", "--seed", "0")
        talk.say("/help")
        talk.say("Hello there.")
        talk.say("/system Be odd.")
        talk.say("/system")
        talk.say('"""', until=MORE)
        talk.say("Two lines", until=MORE)
        talk.say('of text"""')
        talk.say("one\\", until=MORE)
        talk.say("and another")
        talk.say(f"/save {saved}")
        self.stop_a_reply(talk)
        talk.say("/regen")
        talk.say("/clear")
        talk.say(f"/load {saved}")
        talk.say("/regen")
        talk.say("Where were we?")
        talk.say("/set temperature 1")
        talk.say("/regen")
        talk.say("/set")
        talk.say("/nothing")
        talk.say("/load none.json")
        talk.say("/set colour red")
        talk.say("/set temperature -1")
        talk.say("/quit now")
        self.assertEqual(talk.leave(), 0)
        return shown(talk.raw).replace(self.chat, "MODEL").replace(saved, "SAVED")

    def test_transcript(self):
        text = self.session()
        if os.environ.get("INGOT_ACCEPT"):
            with open(TRANSCRIPT, "w", encoding="utf-8") as f:
                f.write(text)
        with open(TRANSCRIPT, encoding="utf-8") as f:
            self.assertEqual(text, f.read())


class Turns(TerminalTest):
    def test_replies_are_those_of_the_rendered_conversation(self):
        talk = self.talk("--system", "be odd")
        messages = [("system", "be odd"), ("user", "hello")]
        first = self.reply_of_run(messages)
        self.assertEqual(talk.answer("hello"), first + "\n")
        messages += [("assistant", first), ("user", "one\ntwo")]
        talk.say("one\\", until=MORE)
        second = self.reply_of_run(messages)
        self.assertEqual(talk.answer("two"), second + "\n")

    def test_only_what_is_new_is_computed(self):
        talk = self.talk("--ctx", "1000", "--log-level", "error")
        talk.say("hello")
        used = int(re.search(r"context (\d+)", talk.answer("/stats"))[1])
        talk.say("and now a longer message than that")
        prompt, kept = map(int, re.search(r"last prompt (\d+) tokens, (\d+) from the cache",
                                          talk.answer("/stats")).groups())
        self.assertGreaterEqual(kept, used - 1 - 12 - 15, "not even the prompt was kept")
        self.assertLess(kept, prompt)
        talk.say("/regen")
        again = re.search(r"last prompt (\d+) tokens, (\d+) from the cache", talk.answer("/stats"))
        self.assertEqual((int(again[1]), int(again[2])), (prompt, (prompt - 1) // 16 * 16))

    def test_stats_say_what_drafts_gained(self):
        def stats(*flags):
            talk = self.talk("--ignore-eos", "--ctx", "1000", *flags)
            talk.say("/set max_tokens 60")
            talk.say("hello")
            return talk.answer("/stats")
        line = r"^drafts (\d+), (\d+) accepted: ([0-9.]+) tokens a step$"
        found = re.search(line, stats("--draft-tokens", "4"), re.M)
        self.assertIsNotNone(found)
        drafts, accepted = int(found[1]), int(found[2])
        self.assertGreater(accepted, 0)
        self.assertGreaterEqual(drafts, accepted)
        self.assertAlmostEqual(float(found[3]), 59 / (59 - accepted), delta=0.006)
        self.assertNotIn("drafts", stats("--draft", "off"))

    def test_the_seed_is_new_at_each_start_and_shown(self):
        def seed(talk):
            return int(re.search(r"^seed (\d+)$", talk.answer("/stats"), re.M)[1])
        talk = self.talk()
        drawn = seed(talk)
        self.assertLess(drawn, 1 << 53)
        self.assertNotEqual(seed(self.talk()), drawn)
        talk.say("/set seed 7")
        self.assertEqual(seed(talk), 7)
        self.assertEqual(seed(self.talk("--seed", "8")), 8)

    def test_a_stopped_reply_belongs_to_the_conversation(self):
        talk = self.talk("--ctx", "100000", "--log-level", "error")
        talk.say("/set max_tokens 90000")
        talk.send("go on\r")
        talk.wait("go on\r\n.")
        talk.send(CTRL_C)
        talk.wait(r"\(stopped\)")
        talk.wait(PROMPT)
        path = self.path("stopped.json")
        talk.say(f"/save {path}")
        with open(path, encoding="utf-8") as f:
            chat = json.load(f)
        self.assertEqual([m["role"] for m in chat["messages"]], ["user", "assistant"])
        said = chat["messages"][1]["content"]
        self.assertGreater(len(said), 0)
        messages = [("user", "go on"), ("assistant", said), ("user", "and then")]
        talk.say("/set max_tokens 12")
        self.assertEqual(talk.answer("and then"),
                         self.reply_of_run(messages, "--ctx", "100000", "--log-level", "error")
                         + "\n")

    def test_control_characters_never_reach_the_terminal(self):
        path = self.file("hostile.gguf", chat_model.hostile_model().build())
        talk = Talk(self, path, "--max-tokens", "40", "--temperature", "1")
        talk.say("hello")
        talk.say("/save " + self.path("hostile.json"))
        talk.leave()
        with open(self.path("hostile.json"), encoding="utf-8") as f:
            self.assertIn("\x1b]52", json.load(f)["messages"][1]["content"])
        self.assertIn("\\x1b]52", talk.raw)
        for forbidden in ("\x1b]", "\x1b[2J", "\x07", "\x9b"):
            self.assertNotIn(forbidden, talk.raw)


class Tools(TerminalTest):
    def test_tools_are_listed(self):
        tool = {"type": "function", "command": ["sh", "-c", "cat\x1b"],
                "function": {"name": "echo", "description": "Repeats\x1b it"}}
        path = self.file("tools.json", json.dumps([tool]).encode())
        talk = self.talk("--tools", path, "--ctx", "1024", "--log-level", "error")
        self.assertEqual(talk.answer("/tools"),
                         "echo: sh -c cat\\x1b\n    Repeats\\x1b it\n")
        talk.say("hello")  # a reply without calls
        self.assertEqual(self.talk().answer("/tools"), "There are no tools: see --tools.\n")

    def test_a_call_runs_after_a_yes_and_never_without(self):
        """With the built-in model, which knows how to call tools."""
        ran = self.path("ran.txt")
        tool = {"type": "function", "command": ["sh", "-c", f"cat >> {ran}; echo 17 degrees"],
                "function": {"name": "get_weather", "description": "Weather of a city",
                             "parameters": {"type": "object", "required": ["city"],
                                            "properties": {"city": {"type": "string"}}}}}
        talk = Talk(self, "ingot-demo", "--temperature", "0", "--tools",
                    self.file("weather.json", json.dumps([tool]).encode()))
        ask, question = "What is the weather in Oslo?", r"Run it\? \[y\]es, \[n\]o: "
        call = talk.say(ask, until=question)
        self.assertIn('The model calls get_weather with\n{"city": "Oslo"}\n', call)
        talk.say("n")
        self.assertFalse(os.path.exists(ran))
        talk.say("/clear")
        talk.say(ask, until=question)
        talk.say("perhaps", until=question)
        reply = talk.answer("y")
        with open(ran, encoding="utf-8") as f:
            self.assertEqual(json.load(f), {"city": "Oslo"})
        self.assertTrue(reply.startswith("17 degrees\n"), reply)
        self.assertIn("17", reply[len("17 degrees\n"):])  # the model was told
        path = self.path("called.json")
        talk.say(f"/save {path}")
        with open(path, encoding="utf-8") as f:
            messages = json.load(f)["messages"]
        self.assertEqual([m["role"] for m in messages], ["user", "assistant", "tool", "assistant"])
        self.assertEqual(messages[2]["content"], "17 degrees\n")

    def test_what_the_template_leaves_out_is_told_once(self):
        tool = {"type": "function", "command": ["cat"], "function": {"name": "echo"}}
        tools = self.file("tools.json", json.dumps([tool]).encode())
        template = self.file("no_text.jinja", b"""{{ tools | tojson if tools }}
{%- for m in messages %}
{%- if m.role == 'assistant' and messages[loop.index0 - 1].role == m.role %}
{{- raise_exception('one reply at a time') }}{% endif %}<|im_start|>{{ m.role }}
{% if m.tool_calls %}{% for c in m.tool_calls %}<tool_call>
{{ c.function | tojson }}
</tool_call>{% endfor %}{% else %}{{ m.content }}{% endif %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}""")
        call = {"id": "1", "type": "function", "function": {"name": "echo", "arguments": "{}"}}
        chat = self.file("chat.json", json.dumps({
            "format": "ingot-chat", "version": 1, "model": "any", "messages": [
            {"role": "user", "content": "say a"},
            {"role": "assistant", "content": "Let me see.", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "1", "name": "echo", "content": "a"},
            {"role": "assistant", "content": "a"}]}).encode())
        talk = self.talk("--tools", tools, "--template", template, "--ctx", "1024")
        talk.say(f"/load {chat}")
        talk.say("hello")
        talk.say("hello again")
        told = "the chat template writes no text beside calls of tools"
        self.assertEqual(talk.raw.count(told), 1, talk.raw)

    def test_bad_tools_are_refused(self):
        path = self.file("bad.json", b"[{}]")
        child = pexpect.spawn(ingot.BINARY, ["chat", self.chat, "--tools", path], timeout=60,
                              env=ingot.environment(), encoding="utf-8")
        self.addCleanup(child.close, force=True)
        child.expect(r"tools\[0\]\.type: is missing")
        child.expect(pexpect.EOF)
        child.close()
        self.assertEqual(child.exitstatus, ingot.USAGE)


class FullContext(TerminalTest):
    CHOICE = r"\[c\]ancel\? "

    def full(self):
        """A chat whose context has no room for another message."""
        talk = self.talk("--ctx", "128", "--log-level", "error")
        for i in range(20):
            talk.child.send(f"message {i}\r")
            if talk.child.expect([PROMPT, self.CHOICE]) == 1:
                return talk, i
        raise AssertionError("the context never became full")

    def saved(self, talk):
        path = self.path("full.json")
        if os.path.exists(path):
            os.remove(path)
        talk.say(f"/save {path}")
        with open(path, encoding="utf-8") as f:
            return [m["content"] for m in json.load(f)["messages"] if m["role"] == "user"]

    def test_nothing_is_dropped_unasked(self):
        talk, last = self.full()
        talk.say("what?", until=self.CHOICE)
        talk.say("c")
        self.assertEqual(self.saved(talk), [f"message {i}" for i in range(last)])

    def test_a_new_chat(self):
        talk, last = self.full()
        reply = talk.answer("n")
        self.assertEqual(reply, self.reply_of_run([("user", f"message {last}")]) + "\n")
        self.assertEqual(self.saved(talk), [f"message {last}"])

    def test_dropping_the_oldest_turns(self):
        talk, last = self.full()
        answer = talk.answer("d")
        dropped = int(re.match(r"Dropped the oldest (\d+) turn", answer)[1])
        self.assertGreater(dropped, 0)
        self.assertEqual(self.saved(talk), [f"message {i}" for i in range(dropped, last + 1)])
        self.assertLess(int(re.search(r"context (\d+)", talk.answer("/stats"))[1]), 97 + 12)

    def test_ctrl_c_takes_the_message_back(self):
        talk, last = self.full()
        talk.send(CTRL_C)
        talk.wait(PROMPT)
        self.assertEqual(len(self.saved(talk)), last)

    def test_a_message_too_long_on_its_own(self):
        talk = self.talk("--ctx", "64", "--log-level", "error")
        talk.say("x" * 100, until=self.CHOICE)
        self.assertRegex(talk.answer("n"), "error: the message alone takes [0-9]+ of 64 tokens")
        self.assertEqual(self.saved(talk), [])


class Keys(TerminalTest):
    def test_ctrl_c_stops_a_reply_and_drops_a_line_at_every_width(self):
        for columns in (40, 72, 200):
            talk = self.talk("--ctx", "60000", "--log-level", "error", columns=columns)
            talk.say("/set max_tokens 50000")
            talk.send("go on\r")
            talk.wait("go on\r\n.")
            talk.send(CTRL_C)
            talk.wait(r"\(stopped\)\r\n")
            talk.wait(PROMPT)
            talk.say("/set max_tokens 1")
            line = "a line of more columns than a terminal has " * 6
            talk.send(line + CTRL_C)
            rows = talk.wait(PROMPT).split("\n")
            self.assertEqual("".join(rows).replace(" ", ""), line.replace(" ", ""), columns)
            talk.say("kept")
            self.assertEqual(talk.messages(self.path("widths.json")), ["go on", "kept"], columns)

    def test_ctrl_c_drops_a_line_and_twice_leaves(self):
        talk = self.talk()
        talk.send("half a line" + CTRL_C)
        talk.wait(PROMPT)
        talk.send(CTRL_C)
        self.assertIn("Ctrl-C again or Ctrl-D leaves.", talk.wait(PROMPT))
        talk.send("x" + CTRL_C)
        talk.wait(PROMPT)
        talk.send(CTRL_C)
        talk.wait("leaves.")
        talk.wait(PROMPT)
        self.assertEqual(talk.leave(CTRL_C), 0)

    def test_ctrl_c_drops_a_message_that_has_begun(self):
        talk = self.talk()
        talk.say('"""one', until=MORE)
        talk.send(CTRL_C)
        talk.wait(PROMPT)
        self.assertEqual(talk.answer("two"), self.reply_of_run([("user", "two")]) + "\n")
        self.assertEqual(talk.leave(CTRL_D), 0)

    def test_lines_are_found_in_the_next_session(self):
        talk = self.talk()
        talk.say("r\u00e9sum\u00e9")
        talk.leave()
        path = os.path.join(self.home, ".local/state/ingot/chat_history")
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        talk = self.talk()
        talk.send(UP + UP)
        talk.wait("r\u00e9sum\u00e9")
        talk.send(CTRL_C)
        talk.wait(PROMPT)
        talk.leave()
        talk = self.talk("--no-history")
        talk.say("secret")
        talk.leave()
        with open(path, encoding="utf-8") as f:
            self.assertEqual(f.read(), "r\u00e9sum\u00e9\n/quit\n/quit\n")

    def test_a_file_that_is_no_chat_stays(self):
        path = self.file("notes.txt", b"mine")
        talk = self.talk()
        self.assertIn("error: " + path, talk.answer(f"/save {path}"))
        with open(path, "rb") as f:
            self.assertEqual(f.read(), b"mine")

    def test_a_chat_is_not_saved_to_a_pipe(self):
        path = self.path("fifo")
        os.mkfifo(path)
        self.assertIn(f"error: {path}: it is a pipe", self.talk().answer(f"/save {path}"))

    def test_hostile_chats_are_one_line(self):
        talk = self.talk()
        role = (b'{"format": "ingot-chat", "version": 1, "model": "", '
                b'"messages": [{"role": "\\u001b[2J", "content": ""}]}')
        for name, content in (("a", b"\xff"), ("b", b"["), ("c", b"[" * 1000),
                              ("d", b'{"\x1b": 1}'), ("e", role)):
            path = self.file(name + ".json", content)
            lines = talk.answer(f"/load {path}").split("\n")
            self.assertEqual(len(lines), 2, lines)
            self.assertTrue(lines[0].startswith(f"error: {path}: chat"), lines)


class Pipes(TerminalTest):
    """/load reads pipes, and a wait for one ends with Ctrl-C."""

    def test_load(self):
        fifo = self.path("fifo")
        os.mkfifo(fifo)
        messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]
        saved = "\ufeff" + json.dumps({"format": "ingot-chat", "version": 1, "model": "",
                                       "messages": messages})
        talk = self.talk()
        talk.send(f"/load {fifo}\r")
        with open(fifo, "w", encoding="utf-8") as writer:  # waits for the chat
            writer.write(saved)
        self.assertIn("Loaded 2 messages.", talk.wait(PROMPT))
        talk.send(f"/load {fifo}\r")
        with open(fifo, "w", encoding="utf-8"):  # nothing comes
            talk.send(CTRL_C)
            self.assertIn("error: stopped by Ctrl-C", talk.wait(PROMPT))
        self.assertIn("the chat and /load both read standard input", talk.answer("/load -"))
        self.assertEqual(talk.leave(), 0)


if __name__ == "__main__":
    ingot.main()
