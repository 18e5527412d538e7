"""Chats on a pseudo terminal, for tests of ingot chat."""
import array
import fcntl
import json
import os
import sys
import termios
import threading

import chat_model
import ingot
from screen import shown

PYTHON = "/usr/bin/python3"  # where Debian's packages of modules are
try:
    import pexpect
except ImportError:
    if os.path.realpath(sys.executable) != os.path.realpath(PYTHON) and os.path.exists(PYTHON):
        os.execv(PYTHON, [PYTHON, "-B", *sys.argv])
    print("skipped: there is no module pexpect (Debian: python3-pexpect)")
    sys.exit(0)

PROMPT = r"\[\d+/\d+\] > "
MORE = r"\.\.\. "
CTRL_C, CTRL_D, UP, DOWN = "\x03", "\x04", "\x1b[A", "\x1b[B"


class Talk:
    """A chat under way on a terminal."""

    def __init__(self, test, model, *flags, columns=200, rows=24):
        self.columns = columns
        env = ingot.environment({"TERM": "vt100", "LC_ALL": "C.UTF-8", "HOME": test.home,
                                 "XDG_STATE_HOME": None})
        self.raw = ""
        self.child = pexpect.spawn(ingot.BINARY, ["chat", model, *flags], env=env, timeout=60,
                                   encoding="utf-8", dimensions=(rows, columns), echo=True,
                                   preexec_fn=ingot.limited({}, (), ()))
        self.child.delaybeforesend = None
        test.addCleanup(self.child.close, force=True)
        self.wait(PROMPT)

    def wait(self, pattern):
        """Waits for a pattern; returns what was shown before it."""
        self.child.expect(pattern)
        self.raw += self.child.before + self.child.after
        return shown(self.child.before, self.columns)

    def say(self, line, until=PROMPT):
        """Types a line; returns what was shown until the next prompt."""
        self.child.send(line + "\r")
        return self.wait(until)

    def answer(self, line):
        """The output after the line itself."""
        return self.say(line).split("\n", 1)[1]

    def send(self, keys):
        """Sends text, or bytes."""
        data = keys.encode() if isinstance(keys, str) else keys
        while data:
            data = data[os.write(self.child.child_fd, data):]

    def send_long(self, keys):
        """Sends text from a thread: the program shows a part of it before it reads the rest."""
        threading.Thread(target=self.send, args=(keys,), daemon=True).start()

    def let_it_read(self):
        """During a reply: returns when the program has taken the keys, and shown more text than
        the terminal holds."""
        tty = os.open(os.readlink(f"/proc/{self.child.pid}/fd/0"), os.O_RDONLY | os.O_NOCTTY)
        waiting = array.array("i", [1])
        while waiting[0] > 0:
            self.raw += self.child.read(1000)
            fcntl.ioctl(tty, termios.FIONREAD, waiting)
        os.close(tty)
        self.raw += self.child.read(16384)

    def saved(self, path):
        """The messages of the chat, from a file that /save writes."""
        if os.path.exists(path):
            os.remove(path)
        self.say(f"/save {path}")
        with open(path, encoding="utf-8") as f:
            return [(m["role"], m["content"]) for m in json.load(f)["messages"]]

    def messages(self, path):
        """What the user wrote, as the model received it."""
        return [content for role, content in self.saved(path) if role == "user"]

    def leave(self, keys="/quit\r"):
        """Leaves; returns the exit code."""
        self.child.send(keys)
        self.child.expect(pexpect.EOF)
        self.raw += self.child.before
        self.child.close()
        return self.child.exitstatus


class TerminalTest(ingot.CliTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.chat = cls.file("chat.gguf", chat_model.chat_model().build())

    def setUp(self):
        self.home = self.path(f"home-{self.id()}")
        os.mkdir(self.home)

    def talk(self, *flags, **how):
        return Talk(self, self.chat, "--temperature", "0", "--max-tokens", "12", *flags, **how)

    def reply_of_run(self, messages, *flags):
        """What `ingot run` says to the text that the template makes of these messages."""
        result = self.assert_done(ingot.run("run", self.chat, "-p", chat_model.render(messages),
                                            "--json", "--max-tokens", "12", *flags))
        return self.one_json(result)["text"]
