"""Tests what operators use: admin socket, metrics, probes, pace of events; and the sandbox."""
import concurrent.futures
import json
import os
import re
import socket
import tempfile
import time
import unittest

import server


def admin(path, method, target):
    with server.AdminWire(path) as wire:
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
        for target in ("/admin/drain", "/admin/flush-cache", "/admin/check"):
            self.assertEqual(self.server.post(target, {}).status, 404)
        self.assertEqual(self.server.get("/admin/steps").status, 404)

    def test_a_flushed_prefix_is_computed_again(self):
        body = {"prompt": [7] * 64, "max_tokens": 1}

        def cached():
            usage = self.server.post(server.TEXT, body).json()["usage"]
            return usage["prompt_tokens_details"]["cached_tokens"]
        self.assertEqual(cached(), 0)
        self.assertGreater(cached(), 0)
        self.assertEqual(admin(self.path, "POST", "/admin/flush-cache").status, 200)
        self.assertEqual(cached(), 0)

    def test_the_books_agree_also_while_requests_run(self):
        body = {"prompt": [7] * 64, "max_tokens": 1500, "ignore_eos": True, "stream": True}
        with server.Wire(self.server) as wire:
            wire.send(server.post(server.TEXT, body)).until(b'"text"')
            reply = admin(self.path, "POST", "/admin/check")
            self.assertEqual((reply.status, reply.json()), (200, {"status": "ok"}))
            self.assertEqual(self.server.metric("vllm:num_requests_running"), 1)
            wire.until(b"data: [DONE]")

    def test_the_last_steps_are_there_with_their_phases(self):
        for _ in range(2):
            body = {"prompt": [7] * 64, "max_tokens": 10, "ignore_eos": True}
            self.assertEqual(self.server.post(server.TEXT, body).status, 200)
        with server.AdminWire(self.path) as wire:
            steps = wire.send(server.head("GET", "/admin/steps")).reply().json()["steps"]
        numbers = [step["number"] for step in steps]
        self.assertEqual(numbers, list(range(numbers[0], numbers[0] + len(numbers))))
        decodes = [step for step in steps if step["decode_rows"] == 1]
        self.assertGreaterEqual(len(decodes), 18)
        self.assertEqual(sum(step["prefill_rows"] for step in steps[-20:]), 64,
                         "the second prompt's other rows were there")
        self.assertGreater(steps[-1]["cached_tokens"], steps[0]["cached_tokens"])
        for step in steps:
            phases = [step[name + "_ms"]
                      for name in ("plan", "forward", "sample", "deliver", "commit")]
            self.assertAlmostEqual(sum(phases), step["ms"], places=3)
            self.assertEqual(step["prefill_rows"] + step["decode_rows"] > 0, True)

    def test_draining_ends_the_process(self):
        self.assertEqual(admin(self.path, "POST", "/admin/drain").status, 200)
        self.assertEqual(self.server.wait(), 0)
        self.assertFalse(os.path.exists(self.path))


def connected(one):
    """A connection; None before it listens."""
    try:
        return server.Wire(one)
    except ConnectionError:
        return None


@unittest.skipIf(server.ingot.SANITIZERS, "a sanitizer opens files of its own")
class Sandbox(unittest.TestCase):
    def test_nothing_is_read_outside_it(self):
        """A client that connects before waits, or gets its refusal from inside."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        one = server.Server("--sandbox", ready=False, port=port)
        self.addCleanup(one.kill)
        one.address = ("127.0.0.1", port)
        wires = []
        server.eventually("it listens", lambda: wires.append(connected(one)) or wires[-1])
        begun = wires[-1]
        tasks = f"/proc/{one.process.pid}/task"
        reply = begun.send(server.head()).reply()
        self.assertIn(reply.status, (200, 503))
        modes = []
        for task in os.listdir(tasks):
            with open(f"{tasks}/{task}/status", encoding="ascii") as f:
                modes.append(f.read().split("Seccomp:\t", 1)[1][0])
        self.assertEqual(set(modes), {"2"})
        begun.socket.close()
        one.line("listening on ")
        self.assertEqual(one.stop(), 0)

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


class Limits(server.ServerTest):
    """Options bound what is read, and for how long it may wait."""
    args = ("--sequences", "1", "--queue-timeout", "1", "--max-body-mib", "1",
            "--default-max-tokens", "5")

    def test_who_waits_too_long_is_told(self):
        """Sixty thousand tokens, one after the other, take more than a second anywhere."""
        body = {"prompt": "x", "max_tokens": 1000, "ignore_eos": True, "return_token_ids": True}
        with concurrent.futures.ThreadPoolExecutor(60) as pool:
            replies = list(pool.map(lambda _: self.server.post(server.TEXT, body), range(60)))
        late = [reply for reply in replies if reply.status == 503]
        for reply in late:
            self.assert_error(reply, 503, "queue_timeout")
        self.assertGreater(len(late), 0)
        self.assertEqual({reply.status for reply in replies} - {200, 429, 503}, set())

    def test_what_is_read(self):
        self.assertEqual(self.server.post(server.TEXT, {"prompt": "a" * (1 << 20)}).status, 413)
        for body in ({"n": 129}, {"prompt": ["a"] * 257}):
            body = {"prompt": "a", "max_tokens": 1, **body}
            self.assertEqual(self.server.post(server.TEXT, body).status, 400, body)
        chat = {"messages": [{"role": "user", "content": "Hello"}], "ignore_eos": True}
        usage = self.server.post(server.CHAT, chat).json()["usage"]
        self.assertEqual(usage["completion_tokens"], 5)

    def test_errors_of_bodies_have_the_form_of_their_path(self):
        reply = self.server.post("/v1/messages", {"system": "a" * (1 << 20)})
        self.assertEqual((reply.status, reply.json()["type"]), (413, "error"), reply)


BODY = {"prompt": "a", "max_tokens": 1}


class Contents(unittest.TestCase):
    """Contents are in the log where the operator asks for them, and nowhere else."""

    def lines(self, *args):
        one = server.Server(*args)
        self.addCleanup(one.kill)
        self.assertEqual(one.post(server.TEXT, {**BODY, "prompt": "Sesame \u00e4"}).status, 200)
        stream = one.post(server.TEXT, {**BODY, "max_tokens": 30, "stream": True})
        self.assertEqual(stream.status, 200)
        self.assertEqual(one.stop(), 0)
        return one.lines, stream.body.decode()

    def test_a_banner_and_what_was_said(self):
        lines, stream = self.lines("--log-content", "--log-level", "error")
        self.assertTrue(lines[0].startswith("warning: --log-content"), lines[0])
        said = [json.loads(line) for line in lines if line.startswith("{")]
        said = [line for line in said if line["event"] == "content"]
        self.assertIn("Sesame", said[0]["text"])
        self.assertEqual((said[0]["of"], said[1]["of"]), ("request", "response"))
        self.assertIn('"choices"', said[1]["text"])
        self.assertEqual(said[0]["id"], said[1]["id"])
        rest = [line["text"] for line in said if line["id"] != said[0]["id"]
                and line["of"] == "response"]
        self.assertEqual("".join(rest), stream)

    def test_nothing_without_it(self):
        lines, _ = self.lines("--log-requests")
        self.assertNotIn("Sesame", "\n".join(lines))

    def test_where_a_cached_prefix_ended_and_why(self):
        one = server.Server("--log-requests", "--log-level", "error")
        self.addCleanup(one.kill)
        for last in (7, 7, 8):
            body = {"prompt": [7] * 63 + [last] + [9] * 16, "max_tokens": 1}
            self.assertEqual(one.post(server.TEXT, body).status, 200)
        self.assertEqual(one.stop(), 0)
        ends = [json.loads(line) for line in one.lines if '"event":"request"' in line]
        found = [(end["cached_tokens"], end.get("miss"), end.get("miss_token")) for end in ends]
        self.assertEqual(found, [(0, "new", 0), (79, None, None), (48, "diverged", 63)])


class Accounts(unittest.TestCase):
    """The log and the metrics agree on what requests took, whose clients stayed or left."""
    COUNTS = ("vllm:prompt_tokens_total", "vllm:generation_tokens_total",
              "vllm:request_prompt_tokens_sum", "vllm:request_generation_tokens_sum",
              "vllm:time_to_first_token_seconds_count", "vllm:request_prompt_tokens_count")
    LONG = {"prompt": [7] * 20, "max_tokens": 8000, "ignore_eos": True}

    def counts(self):
        return [self.server.metric(name) for name in self.COUNTS]

    def sent(self, **more):
        wire = server.Wire(self.server)
        self.addCleanup(wire.socket.close)
        return wire.send(server.post(server.TEXT, {**self.LONG, **more}))

    def has(self, name, count, **labels):
        server.eventually(name, lambda: self.server.metric(name, **labels) == count)

    def leaves(self, wire, how, number):
        how(wire)
        self.has("ingot:http_responses_total", number, status="499")

    def test_what_requests_took(self):
        self.server = server.Server("--log-requests", "--log-level", "error", "--ctx", "8192",
                                    "--sequences", "1")
        self.addCleanup(self.server.kill)
        self.has("vllm:num_requests_running", 0)
        before = self.counts()
        running = self.sent(stream=True)
        running.until(b'"text"')
        waiting = self.sent()
        self.has("vllm:num_requests_waiting", 1)
        self.leaves(waiting, server.Wire.reset, 1)
        self.leaves(running, server.Wire.reset, 2)
        for number, body in ((3, {}), (4, {"prompt": [5] * 7000, "max_tokens": 1000})):
            wire = self.sent(**body)
            self.has("vllm:num_requests_running", 1)
            self.leaves(wire, server.Wire.end_writing, number)
        whole = {"prompt": [[9] * 30, [8] * 5], "max_tokens": 3, "ignore_eos": True}
        self.assertEqual(self.server.post(server.TEXT, whole).status, 200)
        found = [after - was for after, was in zip(self.counts(), before)]
        self.assertEqual(self.server.stop(), 0)
        ends = [json.loads(line) for line in self.server.lines if '"event":"request"' in line]
        self.assertEqual([(end["status"], end.get("cut", False)) for end in ends],
                         [(499, True)] * 4 + [(200, False)])
        self.assertEqual([end["prompt_tokens"] for end in ends], [20, 20, 20, 7000, 35])
        self.assertEqual([ends[0][name + "_tokens"]
                          for name in ("computed", "cached", "generated")], [0, 0, 0], "it waited")
        self.assertNotIn("first_token_seconds", ends[0])
        self.assertGreater(ends[1]["generated_tokens"], 0)
        self.assertLessEqual(ends[3]["computed_tokens"], 7000)
        self.assertEqual((ends[4]["computed_tokens"], ends[4]["generated_tokens"]), (35, 6))
        ready = sum(end["computed_tokens"] + end["cached_tokens"] for end in ends)
        generated = sum(end["generated_tokens"] for end in ends)
        first = sum("first_token_seconds" in end for end in ends) + 1  # one more prompt
        self.assertEqual(found, [ready, generated, 7095, generated, first, 6])


class Reserve(unittest.TestCase):
    def test_probes_are_answered_while_all_connections_are_taken(self):
        one = server.Server("--connections", "3")
        self.addCleanup(one.kill)
        wires = [server.Wire(one) for _ in range(3)]
        for wire in wires:
            self.assertEqual(wire.send(server.head()).reply().status, 200)
        for path in ("/health", "/livez", "/readyz"):
            self.assertEqual(one.get(path).status, 200)
        reply = one.get("/v1/models")
        self.assertEqual((reply.status, reply.error()["code"]), (503, "too_many_connections"))
        # Clients that take the reserve as well lose it soon.
        more = [server.Wire(one) for _ in range(4)]
        for wire in more:
            wire.ends()
        self.assertEqual(one.get("/health").status, 200)
        for wire in (*wires, *more):
            wire.__exit__()
        self.assertEqual(one.stop(), 0)


class Sequences(unittest.TestCase):
    def test_as_many_run_at_once_as_there_are_keys_and_values_for(self):
        for options, expected in (((), 64), (("--kv-tokens", "4096"), 64),
                                  (("--kv-tokens", "131072"), 128),
                                  (("--kv-tokens", "999999"), 256),
                                  (("--kv-tokens", "131072", "--sequences", "7"), 7)):
            one = server.Server(*options)
            self.addCleanup(one.kill)
            settings = one.get("/props").json()["settings"]
            self.assertEqual(settings["sequences"], expected, options)
            self.assertEqual(one.stop(), 0)

    def test_less_than_what_was_asked_for_is_said(self):
        rows = "since each needs one of the tokens of a step (--step-rows)"
        for options, expected in (
                ((), []),
                (("--kv-tokens", "4096"), []),
                (("--sequences", "9", "--step-rows", "4"), [f"--sequences 9: 4, {rows}"]),
                (("--kv-tokens", "131072", "--sequences", "7"),
                 ["--kv-tokens 131072: 7168, since 7 requests of 1024 tokens need no more "
                  "(--sequences, --ctx)"]),
                (("--step-rows", "16384", "--memory-limit", "64M"),
                 ["steps have NUMBER tokens at most instead of 16384 (--step-rows): "
                  "the memory holds no more"]),
                (("--kv-tokens", "65536", "--memory-limit", "64M"),
                 ["--kv-tokens 65536: NUMBER, since the memory holds no more"])):
            one = server.Server(*options)
            self.addCleanup(one.kill)
            said = [line for line in one.lines if line.startswith("warning: ")]
            self.assertEqual(len(said), len(expected), (options, said))
            for line, text in zip(said, expected):
                pattern = re.escape(f"warning: {text}").replace("NUMBER", "[0-9]+")
                self.assertRegex(line, f"^{pattern}$")
            self.assertEqual(one.stop(), 0)


class Threads(unittest.TestCase):
    def test_those_that_read_and_write_interrupt_no_step(self):
        sandbox = () if server.ingot.SANITIZERS else (("--sandbox",),)
        for options in ((), *sandbox):
            one = server.Server(*options)
            self.addCleanup(one.kill)
            tasks = os.listdir(f"/proc/{one.process.pid}/task")
            policies = [os.sched_getscheduler(int(task)) for task in tasks]
            threads = one.get("/props").json()["settings"]["io_threads"]
            self.assertEqual(policies.count(os.SCHED_BATCH), threads, policies)
            self.assertEqual(one.stop(), 0)


class Interval(unittest.TestCase):
    """How often a stream is sent."""
    BODY = {"prompt": "Once upon a time", "max_tokens": 64, "ignore_eos": True, "temperature": 0}

    def parts(self, *args, **more):
        """What a stream says, and in how many chunks of HTTP."""
        request = {**self.BODY, **more}
        one = server.Server(*args)
        self.addCleanup(one.kill)
        with server.Wire(one) as wire:
            wire.send(server.post(server.TEXT, {**request, "stream": True}))
            wire.until(b"\r\n\r\n")
            sizes, body = [], b""
            while not sizes or sizes[-1] > 0:
                sizes.append(int(wire.until(b"\r\n"), 16))
                body += wire.exactly(sizes[-1])
                wire.exactly(2)
        texts = [c["text"] for e in server.Reply(200, [], body).events() if isinstance(e, dict)
                 for c in e["choices"]]
        whole = one.post(server.TEXT, request).json()["choices"][0]["text"]
        self.assertEqual("".join(texts), whole)
        self.assertEqual(one.stop(), 0)
        return texts, len(sizes) - 1

    def test_pieces_that_come_fast_go_out_together(self):
        """What a chunk of HTTP has of a choice is one event."""
        texts, chunks = self.parts("--stream-interval-ms", "1000")
        self.assertLessEqual(len(texts), chunks + 1)
        self.assertLess(len(texts), 16, "of 64 tokens")
        self.parts("--stream-interval-ms", "0")

    def test_few_tokens_go_out_as_they_come(self):
        """Where the thread that sends has to wait for a CPU, some go out together all the same."""
        _, gathered = self.parts("--stream-interval-ms", "1000", max_tokens=400)
        self.assertTrue(any(self.parts(max_tokens=400)[1] > 3 * gathered for _ in range(10)))

    def test_events_of_all_streams_stay_within_a_pace(self):
        """With any number of tokens: 313 events a second, 64 saved up, 64 owed, and ends. A machine
        that makes fewer tokens passes in any case."""
        streams, tokens = 16, 400
        one = server.Server()
        self.addCleanup(one.kill)
        begin = time.monotonic()
        wires = [server.Wire(one).send(server.post(server.TEXT, {
            **self.BODY, "max_tokens": tokens, "stream": True})) for _ in range(streams)]
        bodies = [wire.until(b"data: [DONE]") for wire in wires]
        seconds = time.monotonic() - begin
        threads = one.get("/props").json()["settings"]["io_threads"]
        for wire in wires:
            wire.__exit__()
        events = sum(body.count(b"data: ") for body in bodies)
        # Events that were woken early go out too. Each stream: its last tokens, its end.
        most = threads * (2 * 64 + 3 * 313 * seconds) + 4 * streams
        self.assertLess(events, most, f"in {seconds:.2f} s")
        self.assertEqual(one.stop(), 0)

    def test_an_event_has_a_bound(self):
        one = server.Server("--stream-interval-ms", "1000")
        self.addCleanup(one.kill)
        body = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 200,
                "ignore_eos": True, "logprobs": True, "top_logprobs": 20, "stream": True}
        events = one.post(server.CHAT, body).body.split(b"\n\n")
        self.assertGreater(sum(map(len, events)), 200 << 10)
        self.assertLess(max(map(len, events)), 32 << 10)
        self.assertEqual(one.stop(), 0)

    def test_tokens_of_one_event_are_all_there(self):
        one = server.Server("--stream-interval-ms", "1000")
        self.addCleanup(one.kill)
        body = {"messages": [{"role": "user", "content": "Tell me a story."}], "max_tokens": 48,
                "temperature": 0, "logprobs": True, "top_logprobs": 2, "return_token_ids": True}
        whole = one.post(server.CHAT, body).json()["choices"][0]
        events = [c for e in one.post(server.CHAT, {**body, "stream": True}).events()
                  if isinstance(e, dict) for c in e["choices"]]
        self.assertLess(len(events), 24)
        self.assertEqual("".join(c["delta"].get("content", "") for c in events),
                         whole["message"]["content"])
        self.assertEqual(sum((c.get("token_ids", []) for c in events), []), whole["token_ids"])
        self.assertEqual(sum((c["logprobs"]["content"] for c in events if c["logprobs"]), []),
                         whole["logprobs"]["content"])
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
