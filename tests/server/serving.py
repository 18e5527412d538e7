"""Runs `ingot serve` for tests, and sends it requests through Python's own HTTP client."""
import http.client
import json
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
import ingot  # noqa: E402  (found through the line above)

main = ingot.main
LISTENING = b"listening on http://"


class Server:
    """A server on a free port; its default model is the built-in one."""

    def __init__(self, *args):
        self.process = ingot.start("serve", "--port", "0", *args)
        self.port = self._port()

    def _port(self):
        said = b""
        for line in self.process.stderr:
            if line.startswith(LISTENING):
                return int(line.rsplit(b":", 1)[1])
            said += line
        ingot.stop(self.process)
        raise AssertionError(f"the server does not listen: {said!r:.2000}")

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=ingot.TIMEOUT_S)

    def request(self, method, path, body=None, **headers):
        """(status, header fields, bytes) of one request on a connection of its own."""
        connection = self.connect()
        try:
            content = None if body is None else json.dumps(body)
            if content is not None:
                headers.setdefault("Content-Type", "application/json")
            connection.request(method, path, content, headers)
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        finally:
            connection.close()

    def post(self, path, body, **headers):
        """(status, JSON) of one request."""
        status, _, content = self.request("POST", path, body, **headers)
        return status, json.loads(content)

    def events(self, path, body):
        """[(name, JSON)] of a stream, whose frames are checked."""
        status, headers, content = self.request("POST", path, {**body, "stream": True})
        assert status == 200, (status, content[:500])
        assert headers["Content-Type"] == "text/event-stream", headers
        assert content.endswith(b"\n\n"), content[-100:]
        return [event(frame) for frame in content.decode().split("\n\n")[:-1]]

    def cancelled(self, path, body):
        """The events of a stream whose request is cancelled when the first one is there."""
        for _ in range(9):  # it may end before
            status, events = self._cancelled(path, body)
            if status == 200:
                return events
        raise AssertionError(f"requests to {path} end too soon to be cancelled")

    def _cancelled(self, path, body):
        connection = self.connect()
        try:
            connection.request("POST", path, json.dumps({**body, "stream": True}),
                               {"Content-Type": "application/json"})
            response = connection.getresponse()
            first = response.readline()
            request_id = response.headers["X-Request-Id"]
            status, _, _ = self.request("DELETE", f"/v1/requests/{request_id}")
            frames = (first + response.read()).decode().split("\n\n")[:-1]
            return status, [event(frame) for frame in frames]
        finally:
            connection.close()

    def stop(self):
        """Ends it as an operator would; returns its exit code."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return ingot.finish(self.process).code
        finally:
            ingot.stop(self.process)


def event(frame):
    """(name, JSON) of one frame."""
    name, data = frame.split("\n")
    assert name.startswith("event: ") and data.startswith("data: "), frame
    return name[len("event: "):], json.loads(data[len("data: "):])


class ServerTest(ingot.CliTest):
    """Tests of one server, which `arguments` start."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = Server(*cls.arguments())

    @classmethod
    def arguments(cls):
        return ()

    @classmethod
    def tearDownClass(cls):
        code = cls.server.stop()
        super().tearDownClass()
        if code != ingot.DONE:
            raise AssertionError(f"the server ended with {code}")

    def ask(self, path, body):
        """The JSON of a request that succeeds."""
        status, found = self.server.post(path, body)
        self.assertEqual(status, 200, found)
        return found

    def refused(self, path, body, param, status=400):
        """The error of a request that is refused on account of `param`, or an entry in it."""
        found_status, found = self.server.post(path, body)
        self.assertEqual(found_status, status, f"{body!r:.300}: {found}")
        self.assertEqual(member(found["error"]["param"]), member(param), f"{body!r:.300}: {found}")
        return found["error"]


def member(param):
    """The member of a body that a path begins with: "stop" for "stop[3]"."""
    return param and param.split("[")[0]


# One of each kind of JSON value.
VALUES = {"boolean": True, "integer": 3, "number": 0.5, "string": "x", "array": [1],
          "object": {"a": 1}}


def wrong_values(*kinds):
    """A value of each kind but these; an integer is a number too."""
    good = set(kinds) | ({"integer"} if "number" in kinds else set())
    return [value for kind, value in VALUES.items() if kind not in good]
