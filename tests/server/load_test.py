"""Tests many clients at once: each gets the bytes that it gets alone.

The checked counts hold at any speed; bench/serve measures times.
"""
import concurrent.futures
import resource

import server

STREAMS = 100 if server.ingot.SANITIZERS else 1000
OTHERS = 16


def allow_descriptors(count):
    """Here and in the servers that are started: a shell's limit may be 1024."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    most = count if hard == resource.RLIM_INFINITY else min(count, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def story(seed, **more):
    return {"prompt": "Once upon a time", "max_tokens": 24, "seed": seed, "ignore_eos": True,
            "temperature": 0.8, **more}


def text_of(reply):
    """The text of a whole response, or of a stream's events."""
    if reply.field("Content-Type") == "text/event-stream":
        events = [e for e in reply.events() if isinstance(e, dict)]
        assert not any("error" in e for e in events), reply
        assert reply.body.endswith(b"data: [DONE]\n\n"), reply
        return "".join(c["text"] for e in events for c in e["choices"])
    return reply.json()["choices"][0]["text"]


class Load(server.ServerTest):
    args = ("--connections", "2048", "--queue", "2048")

    @classmethod
    def setUpClass(cls):
        allow_descriptors(4096)
        super().setUpClass()
        cls.alone = [text_of(cls.server.post(server.TEXT, story(i))) for i in range(4)]

    def ask(self, seed, stream):
        reply = self.server.post(server.TEXT, story(seed % 4, stream=stream))
        self.assertEqual(reply.status, 200, reply)
        self.assertEqual(text_of(reply), self.alone[seed % 4])

    def test_beside_others_the_same_bytes(self):
        with concurrent.futures.ThreadPoolExecutor(OTHERS + 1) as pool:
            for done in [pool.submit(self.ask, i, i % 2 == 0) for i in range(8 * (OTHERS + 1))]:
                done.result()

    def test_many_streams(self):
        """All are open before the first one is read."""
        wires = [server.Wire(self.server) for _ in range(STREAMS)]
        try:
            for i, wire in enumerate(wires):
                wire.send(server.post(server.TEXT, story(i % 4, stream=True)))
            for i, wire in enumerate(wires):
                reply = wire.reply()
                self.assertEqual(reply.status, 200, reply)
                self.assertEqual(text_of(reply), self.alone[i % 4])
        finally:
            for wire in wires:
                wire.__exit__()


class Overload(server.ServerTest):
    args = ("--queue", "4", "--sequences", "2", "--connections", "256")

    def test_some_are_refused_and_the_others_served(self):
        """Each request is answered once: its text as alone, or 429 with when to come again."""
        alone = text_of(self.server.post(server.TEXT, story(0)))

        def ask(_):
            reply = self.server.post(server.TEXT, story(0, stream=True))
            if reply.status == 429:
                self.assert_error(reply, 429, code="server_overloaded")
                self.assertIsNotNone(reply.field("Retry-After"))
                return 0
            self.assertEqual(reply.status, 200, reply)
            self.assertEqual(text_of(reply), alone)
            return 1
        with concurrent.futures.ThreadPoolExecutor(60) as pool:
            served = sum(pool.map(ask, range(240)))
        self.assertGreaterEqual(served, 6)
        self.assertLess(served, 240)
        self.assertEqual(self.server.get("/health").status, 200)


if __name__ == "__main__":
    server.main()
