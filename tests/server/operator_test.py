"""What only the operator can do, and what the process can no longer do once it serves."""
import os
import socket
import tempfile
import unittest

import server


class AdminWire(server.Wire):
    """A connection to the socket of administration."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(server.LIMIT_S)
        self.socket.connect(path)
        self.got = b""


def admin(path, method, target):
    with AdminWire(path) as wire:
        return wire.send(server.head(method, target, [("Content-Length", "0")])).reply()


class Administration(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ingot-admin-")
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "admin")
        self.server = server.Server("--admin-socket", self.path)
        self.addCleanup(self.server.kill)

    def test_only_its_owner_connects(self):
        self.assertEqual(os.stat(self.path).st_mode & 0o777, 0o600)

    def test_tcp_has_none_of_it(self):
        for target in ("/admin/drain", "/admin/flush-cache"):
            self.assertEqual(self.server.post(target, {}).status, 404)

    def test_a_flushed_prefix_is_computed_again(self):
        body = {"prompt": [7] * 64, "max_tokens": 1}

        def cached():
            usage = self.server.post(server.TEXT, body).json()["usage"]
            return usage["prompt_tokens_details"]["cached_tokens"]
        self.assertEqual(cached(), 0)
        self.assertGreater(cached(), 0)
        self.assertEqual(admin(self.path, "POST", "/admin/flush-cache").status, 200)
        self.assertEqual(cached(), 0)

    def test_draining_ends_the_process(self):
        self.assertEqual(admin(self.path, "POST", "/admin/drain").status, 200)
        self.assertEqual(self.server.wait(), 0)
        self.assertFalse(os.path.exists(self.path))


@unittest.skipIf(server.ingot.SANITIZERS, "a sanitizer opens files of its own")
class Sandbox(unittest.TestCase):
    def test_every_thread_is_in_it(self):
        one = server.Server("--sandbox")
        self.addCleanup(one.kill)
        self.assertTrue(one.answer())
        for task in os.listdir(f"/proc/{one.process.pid}/task"):
            with open(f"/proc/{one.process.pid}/task/{task}/status", encoding="ascii") as f:
                lines = [line.split(":\t", 1) for line in f.read().splitlines()]
            fields = {line[0]: line[-1] for line in lines}
            self.assertEqual((fields["NoNewPrivs"], fields["Seccomp"]), ("1", "2"), task)
        self.assertEqual(one.get("/metrics").status, 200)
        self.assertEqual(one.stop(), 0)
        self.assertFalse(os.path.exists(one.unix_socket))


class Hosts(unittest.TestCase):
    def test_names_are_compared_without_their_case(self):
        one = server.Server("--allowed-hosts", "Example.COM")
        self.addCleanup(one.kill)
        for host, status in (("example.com", 200), ("EXAMPLE.com:80", 200), ("example.org", 421)):
            self.assertEqual(one.exchange(server.head(host=host)).status, status, host)
        self.assertEqual(one.stop(), 0)


class Proportion(server.ServerTest):
    """What a small request can cost is bounded."""

    def test_scores(self):
        body = {"prompt": [[7] * 900] * 16, "n": 16, "echo": True, "logprobs": 20, "max_tokens": 0}
        self.assert_error(self.server.post(server.TEXT, body), 400, param="logprobs")

    def test_bodies_where_none_belongs(self):
        for method, target in (("GET", "/health"), ("DELETE", "/v1/requests/x")):
            data = server.head(method, target, [("Content-Length", "8388608")])
            with server.Wire(self.server) as wire:
                reply = wire.send(data).reply()
                self.assert_error(reply, 413)
                self.assertEqual(reply.field("Connection"), "close")

    def test_offsets_of_characters_in_pieces(self):
        body = {"prompt": "Hello \U0001f984\u4e16\u754c end", "echo": True, "logprobs": 0,
                "max_tokens": 0}
        choice = self.server.post(server.TEXT, body).json()["choices"][0]
        offsets, tokens = choice["logprobs"]["text_offset"], choice["logprobs"]["tokens"]
        self.assertEqual(tokens[-1], " end")
        self.assertEqual(offsets[-1], choice["text"].index(" end"))
        self.assertEqual(offsets, sorted(offsets))


if __name__ == "__main__":
    server.main()
