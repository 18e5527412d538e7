#!/usr/bin/env python3
"""Tests access to a server: API keys and what they isolate, wrong keys, pages of other origins
(H24, H25, H27, U5)."""
import concurrent.futures
import json
import os
import tempfile

import server
from server import CHAT, head, post

BODY = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1}


class KeyTest(server.ServerTest):
    """A server with the keys of two."""

    KEY = "a-key-of-16-characters"
    auth = (("Authorization", f"Bearer {KEY}"),)

    @classmethod
    def setUpClass(cls):
        cls.args = ("--api-key-file", cls.key_file(f"alice:{cls.KEY}\nbob:{'b' * 20}\n"),
                    "--log-requests")
        super().setUpClass()

    @classmethod
    def key_file(cls, text):
        handle, path = tempfile.mkstemp(prefix="ingot-keys-")
        cls.addClassCleanup(os.unlink, path)
        with os.fdopen(handle, "w") as f:
            f.write(text)
        return path

    def assert_sound(self):
        # Too many failures of this address close it for a minute, and good keys with it.
        self.assertEqual(self.server.get("/health").status, 200)

    @classmethod
    def is_quiet(cls):
        return cls.server.descriptors() <= cls.base["descriptors"]


class Keys(KeyTest):
    @staticmethod
    def routes():
        """The table's methods and paths, from its source."""
        here = os.path.dirname(os.path.abspath(__file__))
        with open(os.path.join(here, "../../src/server/routes.cpp"), encoding="utf-8") as f:
            return [line.split('"')[1:4:2] for line in f if line.startswith('    {"')]

    def test_h24_every_route_needs_a_key(self):
        """Wrong keys are counted by address and minute, so that each is asked without one."""
        routes = self.routes()
        self.assertGreater(len(routes), 8)
        public = ["/health", "/livez", "/readyz"]
        statuses = {}
        for method, path in [*routes, ["GET", "/nothing"], ["GET", "/"], ["POST", "/nothing"]]:
            data = head(method, path.replace("{id}", "x"), [("Content-Length", 0)])
            status = self.server.exchange(data).status
            if path in public:
                self.assertEqual(status, 200, path)
                continue
            self.assertIn(status, (401, 429), path)
            statuses[status] = statuses.get(status, 0) + 1
        self.assertGreater(statuses[401], 0)

    def test_h12_a_bad_key_gets_no_continue(self):
        data = head("POST", CHAT, [("Content-Type", "application/json"), ("Content-Length", 1000),
                                   ("Expect", "100-continue"), ("Authorization", "Bearer wrong")])
        reply = self.server.exchange(data)
        self.assertIn(reply.status, (401, 429), reply)
        self.assertEqual(reply.field("Connection"), "close")

    def test_h24_who_is_not_let_in_gets_an_id_too(self):
        ids = {self.server.get("/v1/models").field("X-Request-Id") for _ in range(2)}
        self.assertEqual(len(ids - {None}), 2)

    def test_h24_forms_of_keys(self):
        for fields in ([("Authorization", "bearer " + self.KEY)], [("x-api-key", self.KEY)],
                       [("Api-Key", self.KEY)], [("Authorization", "Bearer " + "b" * 20)]):
            self.assertIn(self.server.get("/v1/models", fields).status, (200, 429))
        self.assertEqual(self.server.get("/v1/models", [("api-key", self.KEY)]).status, 200)

    def test_h24_the_first_form_of_a_key_counts(self):
        forms = [("Authorization", "Bearer {}"), ("x-api-key", "{}"), ("api-key", "{}")]
        for i, (name, text) in enumerate(forms):
            for other, other_text in forms[i + 1:]:
                for first, second, is_good in ((self.KEY, "wrong", True),
                                               ("wrong", self.KEY, False)):
                    fields = [(other, other_text.format(second)), (name, text.format(first))]
                    status = self.server.get("/v1/models", fields).status
                    self.assertIn(status, (200,) if is_good else (401, 429), fields)

    def test_h24_a_proxys_own_authorization_hides_no_key(self):
        basic = ("Authorization", "Basic dXNlcjpwYXNz")
        for name in ("x-api-key", "api-key"):
            reply = self.server.get("/v1/models", [basic, (name, self.KEY)])
            self.assertEqual(reply.status, 200, name)

    def test_u5_what_was_computed_for_one_is_never_found_by_another(self):
        """In pairs: the client that computed a prefix finds it, and no other client does."""
        bob = (("Authorization", "Bearer " + "b" * 20),)
        # What they run under: a key, and a salt that narrows it.
        users = [(fields, salt) for fields in (self.auth, bob) for salt in (None, "a", "b")]

        def cached(user, prompt):
            fields, salt = user
            more = {"cache_salt": salt} if salt else {}
            reply = self.server.post(server.TEXT, {"prompt": prompt, "max_tokens": 1, **more},
                                     fields)
            return reply.json()["usage"]["prompt_tokens_details"]["cached_tokens"]
        for i, first in enumerate(users):
            prompt = [20 + i] * 100
            self.assertEqual(cached(first, prompt), 0)
            for second in users:
                found = cached(second, prompt) if second != first else 0
                self.assertEqual(found, 0, (first, second))
            self.assertEqual(cached(first, prompt), 96, first)

    def test_h27_lines_of_the_log_name_the_key_and_never_show_it(self):
        self.server.post(CHAT, {**BODY, "user": "secret-user"}, self.auth)
        text = "\n".join(self.server.lines)
        for secret in (self.KEY, "secret-user", "Hello"):
            self.assertNotIn(secret, text)


class Operators(KeyTest):
    """With several keys, only an operator sees counts that depend on what was cached."""
    bob = (("Authorization", "Bearer " + "b" * 20),)

    @classmethod
    def setUpClass(cls):
        keys = cls.key_file(f"alice:{cls.KEY}\nbob:{'b' * 20}\n")
        folder = tempfile.TemporaryDirectory(prefix="ingot-admin-")
        cls.addClassCleanup(folder.cleanup)
        cls.admin = os.path.join(folder.name, "admin")
        # A key that is named twice is an operator's once.
        cls.args = ("--api-key-file", keys, "--operator-key", "alice", "--operator-key", "alice",
                    "--admin-socket", cls.admin)
        server.ServerTest.setUpClass.__func__(cls)

    def cached(self, body, fields):
        reply = self.server.post(server.TEXT, {**body, "max_tokens": 1}, fields)
        self.assertEqual(reply.status, 200, reply)
        return reply.json()["usage"]["prompt_tokens_details"]["cached_tokens"]

    def test_u5_counts_of_the_cache_are_the_operators(self):
        for fields, sees in ((self.auth, True), (self.bob, False)):
            text = self.server.get("/metrics", fields).body.decode()
            self.assertEqual("vllm:prefix_cache_hits_total" in text, sees)
            for name in ("entries", "bytes", "evictions_total"):
                self.assertEqual(f"ingot:prefix_cache_{name}" in text, sees)
            self.assertEqual("--operator-key" in text, not sees)
            self.assertIn("vllm:prompt_tokens_total", text)

    def test_u5_no_counts_of_others_tell_what_was_cached(self):
        """What all that one key sees says of another's requests is the same with and without."""
        def counts():
            lines = self.server.get("/metrics", self.bob).body.decode().splitlines()
            return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1])
                    for line in lines if not line.startswith("#")}

        # Memory and the clock grow by themselves.
        others = ("http", "rss", "lora_requests_info")

        def growth():
            before = counts()
            self.cached({"prompt": [33] * 500}, self.auth)
            server.eventually("it is counted", lambda: counts()["vllm:num_requests_running"
                              '{model_name="ingot-demo"}'] == 0)
            return {name: value - before.get(name, 0) for name, value in counts().items()
                    if not any(other in name for other in others)}
        self.assertEqual(growth(), growth())

    def test_the_admin_socket_has_all_counts(self):
        with server.AdminWire(self.admin) as wire:
            self.assertIn(b"vllm:prefix_cache_hits_total",
                          wire.send(head("GET", "/metrics")).reply().body)

    def test_an_operator_without_a_key_is_refused(self):
        done = server.ingot.run("serve", "--port", "0", "--operator-key", "absent")
        self.assertEqual(done.code, server.ingot.USAGE)
        self.assertIn("absent", done.err.splitlines()[-1])


class KeyWeights(KeyTest):
    @classmethod
    def setUpClass(cls):
        path = cls.key_file(f"alice:{cls.KEY}\nbob:{'b' * 20}\ncarol:{'c' * 20}\n")
        cls.args = ("--api-key-file", path, "--key-weight", "alice=4", "--sequences", "1",
                    "--log-requests")
        server.ServerTest.setUpClass.__func__(cls)

    def test_a_key_of_four_times_the_weight_gets_four_turns_for_one(self):
        def auth(letter):
            return [("Authorization", "Bearer " + letter * 20)]

        def waiting():
            return self.server.metric("vllm:num_requests_waiting", self.auth)
        alice, bob = list(self.auth), auth("b")
        # Long enough that lines of the log have the order of the turns.
        body = {"prompt": [5] * 40, "max_tokens": 80, "ignore_eos": True}
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            with server.Wire(self.server) as wire:
                blocks = {**body, "max_tokens": 100000, "stream": True}
                wire.send(post(server.TEXT, blocks, auth("c"))).until(b'"text"')
                replies = [pool.submit(self.server.post, server.TEXT, {**body, "seed": i}, key)
                           for i in range(6) for key in (alice, bob)]
                server.eventually("all of them wait", lambda: waiting() == 12)
            self.assertEqual({reply.result().status for reply in replies}, {200})

        def ended():
            ends = [json.loads(line) for line in self.server.lines if '"event":"request"' in line]
            return [end["key"] for end in ends
                    if end.get("generated_tokens") == 80 and end["key"] != "carol"]
        # A reply may be here before its line of the log, so lines before it may come late too.
        server.eventually("each has its line", lambda: len(ended()) == 12)
        keys = ended()
        self.assertEqual(sorted(keys), ["alice"] * 6 + ["bob"] * 6)
        self.assertEqual(keys[:6].count("alice"), 5, keys)

    def test_k04_weights_that_mean_nothing_are_refused(self):
        for weight in ("absent=2", "alice", "alice=", "alice=0", "alice=nan", "alice=101", "=1"):
            done = server.ingot.run("serve", "--port", "0", *self.args[:2], "--key-weight", weight)
            self.assertNotIn(done.code, (0, 70), weight)
            self.assertIn("--key-weight", done.err.splitlines()[-1])


class KeyPlaces(KeyTest):
    @classmethod
    def setUpClass(cls):
        path = cls.key_file(f"alice:{cls.KEY}\nbob:{'b' * 20}\n")
        cls.args = ("--api-key-file", path, "--queue", "8", "--sequences", "4")
        server.ServerTest.setUpClass.__func__(cls)

    def test_a_list_of_prompts_leaves_room_for_other_requests_of_its_key(self):
        """The key has four places, and the list gets two of them."""
        prompts = {"prompt": ["x"] * 64, "max_tokens": 1000, "ignore_eos": True, "stream": True}
        with server.Wire(self.server, narrow=True) as wire:
            wire.send(post(server.TEXT, prompts, self.auth)).until(b"data: ")
            one = {"prompt": "x", "max_tokens": 1}
            reply = self.server.post(server.TEXT, one, self.auth)
            self.assertEqual(reply.status, 200, reply)


class Failures(KeyTest):
    """Wrong keys are limited by address."""

    def test_h24_twenty_failures_a_minute(self):
        replies = [self.server.get("/v1/models", [("x-api-key", "wrong")]) for _ in range(45)]
        statuses = [reply.status for reply in replies]
        for reply in replies:
            if reply.status == 429:
                self.assertIn(int(reply.field("Retry-After")), range(1, 61))
        self.assertEqual(statuses[:20], [401] * 20)
        self.assertEqual(statuses[20], 429)
        # The server of sanitizers may take longer than a minute for all.
        self.assertLessEqual(statuses.count(401), 20 * server.SLOWER)


class Names(server.ServerTest):
    def test_h04_who_speaks_http_1_0_may_leave_the_name_out_for_probes_alone(self):
        for path, status in (("/health", 200), ("/livez", 200), ("/readyz", 200),
                             ("/v1/models", 421), ("/metrics", 421), ("/nothing", 421)):
            reply = self.server.exchange(head("GET", path, host=None, version="HTTP/1.0"))
            self.assertEqual(reply.status, status, path)
        reply = self.server.exchange(head("GET", "/v1/models", version="HTTP/1.0"))
        self.assertEqual(reply.status, 200)


class Origins(server.ServerTest):
    def test_h25_no_page_may_use_it(self):
        for origin in ("https://evil.com", "null"):
            for method, path in (("OPTIONS", CHAT), ("GET", "/v1/models")):
                reply = self.server.exchange(head(method, path, [
                    ("Origin", origin), ("Access-Control-Request-Method", "POST")]))
                names = [name.lower() for name, _ in reply.fields]
                self.assertFalse([n for n in names if n.startswith("access-control")], reply)
        reply = self.server.exchange(post(CHAT, BODY, [("Origin", "https://evil.com")],
                                          type="text/plain"))
        self.assertEqual(reply.status, 415)


class AllowedOrigins(server.ServerTest):
    args = ("--cors-origin", "https://good.org", "--cors-origin", "https://other.org")

    def test_h25_an_origin_that_was_named(self):
        for origin, allowed in (("https://good.org", True), ("https://other.org", True),
                                ("https://good.org.evil.com", False), ("http://good.org", False),
                                ("null", False), ("https://GOOD.org", False)):
            with self.subTest(origin=origin):
                expected = origin if allowed else None
                for data, status in ((head("OPTIONS", CHAT, [("Origin", origin)]), 204),
                                     (post(CHAT, BODY, [("Origin", origin)]), 200)):
                    reply = self.server.exchange(data)
                    self.assertEqual(reply.status, status, reply)
                    self.assertEqual(reply.field("Access-Control-Allow-Origin"), expected)
                    names = [name for name, _ in reply.fields if name.startswith("Access-Control")]
                    self.assertEqual(bool(names), allowed, reply)
                    self.assertEqual(reply.field("Vary"), "Origin")
                    self.assertIsNone(reply.field("Access-Control-Allow-Credentials"))


if __name__ == "__main__":
    server.main()
