"""Runs `ingot serve` for tests, with a client that sees every byte of a response.

Environment variables say what is tested (see tests/cli/ingot.py).
"""
import json
import os
import re
import signal
import socket
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
import ingot  # noqa: E402  (found through the line above)
from ingot import eventually  # noqa: E402

# Time that nothing here may need: it only ends a test that would hang.
LIMIT_S = ingot.TIMEOUT_S
SLOWER = 10 if ingot.SANITIZERS else 1
REPORTS = ("ERROR: AddressSanitizer", "WARNING: ThreadSanitizer", "runtime error:",
           "ERROR: LeakSanitizer")
CHAT = "/v1/chat/completions"
TEXT = "/v1/completions"


class Closed(Exception):
    """The server ended the connection where a response should have been."""


class Reply:
    """One response, byte by byte as it came."""

    def __init__(self, status, fields, body):
        self.status, self.fields, self.body = status, fields, body

    def field(self, name):
        """The value of a header field; None without one."""
        found = [value for key, value in self.fields if key.lower() == name.lower()]
        if len(found) > 1:
            raise AssertionError(f"{name} came {len(found)} times: {self.fields}")
        return found[0] if found else None

    def json(self):
        return json.loads(self.body)

    def error(self):
        return self.json()["error"]

    def events(self):
        """The data of server-sent events as JSON; comments and "[DONE]" are left as text."""
        text = self.body.decode()
        if text and not text.endswith("\n\n"):
            raise AssertionError(f"an event is not ended: {text[-200:]!r}")
        found = []
        for event in text.split("\n\n")[:-1]:
            if event.startswith("data: {"):
                found.append(json.loads(event[len("data: "):]))
            else:
                found.append(event)
        return found

    def __str__(self):
        return f"{self.status} {self.fields} {self.body[:1000]!r}"


def head(method="GET", path="/health", fields=(), host="localhost", version="HTTP/1.1"):
    """A request's head as bytes, with its empty line."""
    lines = [f"{method} {path} {version}"]
    lines += [f"Host: {host}"] if host is not None else []
    lines += [f"{name}: {value}" for name, value in fields]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"


def post(path, body, fields=(), type="application/json", **how):
    """A POST as bytes; a body that is no bytes is sent as JSON."""
    if not isinstance(body, bytes):
        body = json.dumps(body).encode()
    fields = [("Content-Type", type), ("Content-Length", len(body)), *fields]
    return head("POST", path, [f for f in fields if f[1] is not None], **how) + body


def chunked(parts):
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (*parts, b""))


class Wire:
    """A connection. Bytes go out as they are, and responses come in one after the other.

    `narrow` is for what is not going to be read: the system holds little of it then.
    """

    def __init__(self, server, narrow=False):
        self.socket = socket.socket(socket.AF_UNIX if narrow else server.family)
        self.socket.settimeout(LIMIT_S)
        try:
            self.socket.connect(server.unix_socket if narrow else server.address)
        except OSError:
            self.socket.close()
            raise
        self.got = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        """Sends; what the server no longer wants to have is dropped."""
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass
        return self

    def end_writing(self):
        self.socket.shutdown(socket.SHUT_WR)
        return self

    def reset(self):
        """Closes with RST instead of FIN."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.socket.close()

    def more(self):
        """Reads what there is; False at the end."""
        try:
            data = self.socket.recv(1 << 16)
        except ConnectionResetError:
            data = b""
        self.got += data
        return bool(data)

    def take(self, size):
        taken, self.got = self.got[:size], self.got[size:]
        return taken

    def until(self, mark):
        """Everything up to and with `mark`."""
        while mark not in self.got:
            if not self.more():
                raise Closed(f"the connection ended in {self.got[-500:]!r}")
        return self.take(self.got.index(mark) + len(mark))

    def exactly(self, size):
        while len(self.got) < size:
            if not self.more():
                raise Closed(f"the connection ended in {self.got[-500:]!r}")
        return self.take(size)

    def chunks(self):
        body = b""
        while True:
            line = self.until(b"\r\n")
            if not re.fullmatch(rb"[0-9a-f]+\r\n", line):
                raise AssertionError(f"no size of a chunk: {line!r}")
            size = int(line, 16)
            body += self.exactly(size)
            if self.exactly(2) != b"\r\n":
                raise AssertionError("a chunk is not ended")
            if size == 0:
                return body

    def reply(self, method="GET"):
        """The next response."""
        lines = self.until(b"\r\n\r\n").decode("latin-1").split("\r\n")[:-2]
        match = re.fullmatch(r"HTTP/1\.1 ([0-9]{3}) ([A-Za-z ]+)", lines[0])
        if not match:
            raise AssertionError(f"no status line: {lines[0]!r}")
        reply = Reply(int(match[1]), [tuple(line.split(": ", 1)) for line in lines[1:]], b"")
        if reply.status in (100, 204) or method == "HEAD":
            return reply
        if reply.field("Transfer-Encoding") == "chunked":
            reply.body = self.chunks()
        elif reply.field("Content-Length") is not None:
            reply.body = self.exactly(int(reply.field("Content-Length")))
        else:
            while self.more():
                pass
            reply.body = self.take(len(self.got))
        return reply

    def ends(self):
        """Waits for the end; what came before it."""
        while self.more():
            pass
        return self.got


class AdminWire(Wire):
    """A connection to the socket of administration."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(LIMIT_S)
        self.socket.connect(path)
        self.got = b""


class Server:
    """The process. Ready when the constructor returns."""

    def __init__(self, *args, ready=True, unix_socket=True, port=0, **how):
        self.folder = tempfile.TemporaryDirectory(prefix="ingot-server-")
        self.unix_socket = os.path.join(self.folder.name, "socket")
        more = ("--unix-socket", self.unix_socket) if unix_socket else ()
        self.process = ingot.start("serve", "--port", str(port), *more, *args, **how)
        self.family = socket.AF_INET
        self.address = None
        self.lines = []
        self.told = threading.Condition()
        self.ended = False
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        if ready:
            line = self.line("listening on ")
            self.address = ("127.0.0.1", int(line.rsplit(":", 1)[1]))
            self.status = self.get("/health").status

    def _read(self):
        for line in self.process.stderr:
            with self.told:
                self.lines.append(line.decode("utf-8", errors="surrogateescape").rstrip("\n"))
                self.told.notify_all()
        with self.told:
            self.ended = True
            self.told.notify_all()

    def line(self, start):
        """Waits for a line of stderr that begins so."""
        def found():
            return next((line for line in self.lines if line.startswith(start)), None)
        with self.told:
            self.told.wait_for(lambda: self.ended or found(), LIMIT_S)
            if found() is None:
                raise AssertionError(f"no line {start!r}: {self.lines}")
            return found()

    def exchange(self, data, method="GET"):
        """One request on a connection of its own."""
        with Wire(self) as wire:
            return wire.send(data).reply(method)

    def get(self, path, fields=()):
        return self.exchange(head("GET", path, fields))

    def post(self, path, body, fields=()):
        return self.exchange(post(path, body, fields))

    def answer(self, fields=()):
        """What the model says to the same chat each time."""
        body = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 12,
                "temperature": 0}
        reply = self.post(CHAT, body, fields)
        if reply.status != 200:
            raise AssertionError(f"a good chat was answered {reply}")
        return reply.json()["choices"][0]["message"]["content"]

    def metric(self, name, fields=(), **labels):
        """The sum of a metric's values that have these labels."""
        total = 0.0
        for line in self.get("/metrics", fields).body.decode().splitlines():
            match = re.fullmatch(re.escape(name) + r"(?:\{(.*)\})? (\S+)", line)
            if match and all(f'{k}="{v}"' in match[1] for k, v in labels.items()):
                total += float(match[2])
        return total

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def threads(self):
        return len(os.listdir(f"/proc/{self.process.pid}/task"))

    def is_asleep(self):
        """Whether every thread waits: none runs, and none waits only for a CPU."""
        tasks = f"/proc/{self.process.pid}/task"
        for task in os.listdir(tasks):
            with open(f"{tasks}/{task}/stat", encoding="ascii") as f:
                if f.read().rsplit(")", 1)[1].split()[0] == "R":
                    return False
        return True

    def resident_bytes(self):
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, limit_s=LIMIT_S):
        """The exit code."""
        code = self.process.wait(limit_s)
        self.reader.join(LIMIT_S)
        self.process.stderr.close()
        self.process.stdout.close()
        text = "\n".join(self.lines)
        if any(report in text for report in REPORTS):
            raise AssertionError(text)
        return code

    def stop(self):
        """SIGTERM, and the exit code."""
        self.signal(signal.SIGTERM)
        return self.wait()

    def kill(self):
        """Ends what a failing test left behind."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.folder.cleanup()
        self.reader.join(LIMIT_S)
        self.process.stderr.close()
        self.process.stdout.close()


class ServerTest(unittest.TestCase):
    """Tests of one server, which is sound behind each of them and quiet at the end."""

    longMessage = True
    args = ()
    env = None
    auth = ()  # fields of good requests

    @classmethod
    def setUpClass(cls):
        cls.server = Server(*cls.args, env=cls.env)
        cls.addClassCleanup(cls.server.kill)
        cls.answer = cls.server.answer(cls.auth)
        # Threads and files that are started once are started now.
        cls.server.get("/metrics", cls.auth)
        cls.base = {"descriptors": cls.server.descriptors(), "threads": cls.server.threads()}

    @classmethod
    def tearDownClass(cls):
        cls.assert_quiet()
        code = cls.server.stop()
        if code != 0:
            raise AssertionError(f"the server ended with {code}: {cls.server.lines}")

    def setUp(self):
        # What the last test left has been counted.
        self.assert_quiet()

    def tearDown(self):
        self.assert_sound()

    @classmethod
    def is_quiet(cls):
        """Nothing runs, waits, holds memory or is open but the connection that asks."""
        ask = cls.server.metric
        return (ask("vllm:num_requests_running", cls.auth) == 0
                and ask("vllm:num_requests_waiting", cls.auth) == 0
                and ask("ingot:num_requests_paused", cls.auth) == 0
                and ask("ingot:kv_blocks", cls.auth, state="referenced") == 0
                and ask("ingot:open_connections", cls.auth) == 1
                and cls.server.descriptors() <= cls.base["descriptors"]
                and cls.server.threads() == cls.base["threads"])

    @classmethod
    def assert_quiet(cls):
        eventually("a server at rest", cls.is_quiet)

    def assert_sound(self):
        """It lives, and says the same as before."""
        self.assertEqual(self.server.get("/health").status, 200)
        self.assertEqual(self.server.answer(self.auth), self.answer)

    def assert_error(self, reply, status, code=None, param=None):
        """An error of the API's shape. `param`: a member; the error may name a part of it."""
        self.assertEqual(reply.status, status, reply)
        self.assertEqual(reply.field("Content-Type"), "application/json", reply)
        error = reply.error()
        self.assertEqual(sorted(set(error) - {"n_prompt_tokens", "n_ctx"}),
                         ["code", "message", "param", "type"], reply)
        self.assertTrue(error["message"].isprintable() and error["message"], reply)
        self.assertLessEqual(len(error["message"]), 600, reply)
        if code is not None:
            self.assertEqual(error["code"], code, reply)
        if param is not None:
            said = error["param"] or ""
            self.assertTrue(said == param or said.startswith((f"{param}[", f"{param}.")), reply)
        return reply

    def refused(self, data, *statuses):
        """One refusal, and then the end of the connection: nothing behind it is executed."""
        with Wire(self.server) as wire:
            reply = wire.send(data).reply()
            self.assertIn(reply.status, statuses, f"{data[:200]!r}: {reply}")
            self.assert_error(reply, reply.status)
            self.assertEqual(reply.field("Connection"), "close", reply)
            self.assertEqual(wire.ends(), b"", f"{data[:200]!r} got a second response")
        return reply


main = ingot.main
