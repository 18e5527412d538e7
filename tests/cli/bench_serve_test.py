#!/usr/bin/env python3
"""Tests ingot bench serve: its figures fit its options with a real server, and it counts every
outcome with servers that refuse requests, break off responses or die."""
import json
import re
import shutil
import signal
import socketserver
import subprocess
import threading
import unittest
import urllib.request

import ingot
from ingot import CHECK_FAILED, DONE, MODEL, USAGE, eventually, run

UNAVAILABLE = 69
SMALL = ("--requests", "6", "--input-len", "8:20", "--output-len", "3:9")
LATENCIES = ("ttft", "tpot", "itl", "e2el", "rejected")
STATISTICS = ("mean", "median", "std", "p50", "p90", "p99")
KEYS = {"INGOT_API_KEY": None, "OPENAI_API_KEY": None}


class Served:
    """A running `ingot serve` of the built-in model."""

    def __init__(self, *more, env=None, scheme="http"):
        self.process = ingot.start("serve", "--port", "0", *more, env=env,
                                   stdout=subprocess.DEVNULL)
        self.lines = []
        for line in self.process.stderr:
            self.lines.append(line.decode())
            found = re.search(r"listening on (\S+)", self.lines[-1])
            if found:
                self.url = scheme + "://" + found.group(1).split("://")[1]
                break
        else:
            raise AssertionError("".join(self.lines))
        # What it says later is of no interest, and must not fill the pipe.
        self.reader = threading.Thread(target=self.process.stderr.read)
        self.reader.start()

    def ended(self):
        """The requests that it has brought to their end."""
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with direct.open(self.url + "/metrics", timeout=ingot.TIMEOUT_S) as reply:
            text = reply.read().decode()
        found = re.findall(r'^vllm:request_success_total\{.*"(?:stop|length)".*\} (\S+)', text,
                           re.MULTILINE)
        return sum(map(float, found))

    def stop(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.reader.join()
        self.process.stderr.close()


class FakeServer:
    """Answers each request with the bytes that `answer(number, body)` yields, then keeps the
    connection or, after None, ends it. Its metrics are of no interest here."""

    def __init__(self, answer):
        owner = self
        self.requests, self.connections, self.lock = [], 0, threading.Lock()

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                with owner.lock:
                    owner.connections += 1
                try:
                    while self.one():
                        pass
                except OSError:
                    pass  # the client has gone

            def one(self):
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    line = self.rfile.readline()
                    if not line:
                        return False
                    head += line
                length = re.search(rb"(?i)content-length: (\d+)", head)
                body = self.rfile.read(int(length.group(1))) if length else b""
                if b"/metrics HTTP" in head:
                    self.wfile.write(plain(404, {}))
                    return True
                with owner.lock:
                    number = len(owner.requests)
                    owner.requests.append((head.decode(), body))
                for part in answer(number, body):
                    if part is None:
                        return False
                    self.wfile.write(part)
                return True

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            request_queue_size = 256

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def plain(status, body, more=""):
    body = json.dumps(body).encode()
    head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\n{more}"
    return head.encode() + f"Content-Length: {len(body)}\r\n\r\n".encode() + body


def chunk(data):
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


STREAM = (b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked"
          b"\r\n\r\n")


def piece(text, finish=None):
    choice = {"index": 0, "text": text, "finish_reason": finish}
    return chunk(b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n")


def whole(text="hi"):
    """A good answer of two pieces, without a count of tokens."""
    return STREAM + piece(text) + piece("!", "length") + chunk(b"data: [DONE]\n\n") + chunk(b"")


class BenchServeTest(ingot.CliTest):
    def bench(self, url, *more, env=None, **how):
        return run("bench", "serve", url, *more, env={**KEYS, **(env or {})}, **how)

    def found(self, url, *more, code=DONE, **how):
        result = self.bench(url, "--json", *more, **how)
        self.assertEqual(result.code, code, result)
        found = self.one_json(result)
        for row in found.get("rows", [found]):
            self.check_fields(row)
        return found

    def check_fields(self, row):
        """What holds whatever was measured."""
        duration = row["duration"]
        self.assertGreater(duration, 0)
        for name, total in (("request_throughput", row["completed"]),
                            ("output_throughput", row["total_output_tokens"]),
                            ("total_token_throughput",
                             row["total_input_tokens"] + row["total_output_tokens"])):
            self.assertAlmostEqual(row[name] * duration, total, 4)
        self.assertEqual(row["errors"], row["rejected"] + row["failed"])
        self.assertEqual(row["errors"], sum(row["errors_by_status"].values()))
        self.assertTrue(row["cache_hit_rate"] is None or 0 <= row["cache_hit_rate"] <= 1)
        for name in LATENCIES:
            values = {s: row[f"{s}_{name}_ms"] for s in STATISTICS}
            self.assertEqual(values["median"], values["p50"])
            self.assertLessEqual(values["p50"], values["p90"])
            self.assertLessEqual(values["p90"], values["p99"])
            self.assertGreaterEqual(min(values.values()), 0)
        self.assertLessEqual(row["mean_ttft_ms"], row["mean_e2el_ms"])
        self.assertLessEqual(row["p99_e2el_ms"], duration * 1e3)


class RealServer(BenchServeTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.socket = cls.path("sock")
        cls.served = Served("--unix-socket", cls.socket)
        cls.url = cls.served.url

    @classmethod
    def tearDownClass(cls):
        cls.served.stop()
        super().tearDownClass()

    def test_completions(self):
        found = self.found(self.url, *SMALL, "--check", "6")
        self.assertEqual((found["completed"], found["errors"]), (6, 0))
        self.assertEqual((found["checked"], found["mismatches"]), (6, 0))
        self.assertEqual((found["without_usage"], found["errors_by_status"]), (0, {}))
        self.assertTrue(6 * 8 <= found["total_input_tokens"] <= 6 * 20)
        self.assertTrue(6 * 3 <= found["total_output_tokens"] <= 6 * 9)
        self.assertIsNone(found["request_goodput"])
        self.assertEqual(found["preemptions"], 0)
        self.assertEqual(found["settings"]["model"], "ingot-demo")
        self.assertGreater(found["mean_ttft_ms"], 0)
        # What else vLLM's benchmark says of a run.
        self.assertEqual((found["backend"], found["model_id"], found["num_prompts"],
                          found["burstiness"], found["request_rate"]),
                         ("openai", "ingot-demo", 6, 1, "inf"))
        self.assertRegex(found["date"], r"^20[0-9]{6}-[0-9]{6}$")

    def test_tokens_are_those_of_serve_inproc(self):
        inproc = self.one_json(self.assert_done(
            run("bench", "serve-inproc", self.model, "--json", "--check", "0", *SMALL)))
        found = self.found(self.url, *SMALL)
        for name in ("total_input_tokens", "total_output_tokens", "completed"):
            self.assertEqual(found[name], inproc[name])

    def test_chats(self):
        found = self.found(self.url, *SMALL, "--endpoint", "chat", "--check", "6",
                           "--concurrency", "3", "--temperature", "1")
        self.assertEqual((found["completed"], found["checked"], found["mismatches"]), (6, 6, 0))
        self.assertEqual(found["max_concurrency"], 3)
        self.assertGreaterEqual(found["total_input_tokens"], 6 * 8)
        self.assertTrue(6 * 3 <= found["total_output_tokens"] <= 6 * 9)

    def test_a_unix_socket(self):
        found = self.found("unix:" + self.socket, *SMALL, "--rate", "200")
        self.assertEqual(found["completed"], 6)
        self.assertEqual(found["request_rate"], 200)

    def test_a_path_of_the_version(self):
        self.assertEqual(self.found(self.url + "/v1/", *SMALL)["completed"], 6)
        self.found(self.url + "/other", *SMALL, "--model", "ingot-demo", code=CHECK_FAILED)

    def test_a_shared_prefix_is_found_by_those_who_come_later(self):
        found = self.found(self.url, "--requests", "5", "--input-len", "20", "--output-len", "3",
                           "--concurrency", "1", "--shared-prefix", "40", "--seed", "99")
        self.assertEqual(found["cache_hit_rate"], 4 * 32 / (5 * 60))

    def test_a_sweep(self):
        found = self.found(self.url, *SMALL, "--sweep", "50,100,inf", "--goodput", "ttft:1e6")
        self.assertEqual([row["request_rate"] for row in found["rows"]], [50, 100, "inf"])
        self.assertEqual([row["completed"] for row in found["rows"]], [6, 6, 6])
        for row in found["rows"]:
            self.assertEqual(row["request_goodput"], row["request_throughput"])
        inputs = {row["total_input_tokens"] for row in found["rows"]}
        self.assertGreater(len(inputs), 1, "each run has a seed of its own")
        closed = self.found(self.url, *SMALL, "--sweep", "concurrency:1,2")
        self.assertEqual([row["max_concurrency"] for row in closed["rows"]], [1, 2])

    def test_a_trace(self):
        trace = "TIMESTAMP,ContextTokens,GeneratedTokens\n" + "".join(
            f"2023-11-16 18:17:0{second}.5,{tokens},{output}\n"
            for second, tokens, output in ((0, 10, 3), (1, 20, 4), (9, 30, 5)))
        path = self.file("azure.csv", trace.encode())
        found = self.found(self.url, "--trace", path, "--speedup", "100")
        self.assertEqual((found["total_input_tokens"], found["total_output_tokens"]), (60, 12))
        self.assertGreaterEqual(found["duration"], 0.09)
        cut = self.found(self.url, "--trace", path, "--speedup", "1e6", "--length-scale", "100",
                         "--ctx", "1024")
        self.assertEqual((cut["completed"], cut["failed"]), (3, 0))
        self.assertGreater(cut["cut_prompts"], 0)

    def test_conversations(self):
        entries = [{"conversations": [{"from": "human", "value": f"Tell me of {name}, please."},
                                      {"from": "gpt", "value": "x" * 4 * length}]}
                   for name, length in (("rain", 3), ("stars", 5), ("wolves", 7))]
        path = self.file("share.json", json.dumps(entries).encode())
        for endpoint in ("chat", "completions"):
            found = self.found(self.url, "--dataset", path, "--requests", "6", "--endpoint",
                               endpoint, "--check", "2")
            self.assertEqual((found["completed"], found["mismatches"]), (6, 0))
            self.assertEqual(found["total_output_tokens"], 2 * (3 + 5 + 7))
        fixed = self.found(self.url, "--dataset", path, "--requests", "3", "--output-len", "4")
        self.assertEqual(fixed["total_output_tokens"], 12)
        self.assert_model_error(self.bench(self.url, "--dataset", self.file("no.json", b"[]")),
                                self.path("no.json"))

    def test_requests_that_the_server_refuses(self):
        result = self.bench(self.url, *SMALL, "--prompt-ids", "5000:6000", "--json")
        found = json.loads(result.out)
        self.assertEqual((found["completed"], found["failed"]), (0, 6))
        self.assertEqual(found["errors_by_status"], {"400": 6})
        self.assert_error(result, CHECK_FAILED, "6 requests failed", "status 400: ",
                          out=result.out)
        unknown = self.found(self.url, *SMALL, "--model", "nobody", code=CHECK_FAILED)
        self.assertEqual(unknown["errors_by_status"], {"404": 6})

    def test_tables(self):
        text = self.assert_done(self.bench(self.url, *SMALL)).out.decode()
        self.assertRegex(text, r"(?m)^completed +6$")
        self.assertRegex(text, r"(?m)^ttft( +[0-9.]+){5}$")
        markdown = self.assert_done(self.bench(self.url, *SMALL, "--markdown")).out.decode()
        self.assertRegex(markdown, r"(?m)^\| mismatches +\| +0 \|$")
        sweep = self.assert_done(self.bench(self.url, *SMALL, "--sweep", "90,inf")).out.decode()
        self.assertRegex(sweep, r"(?m)^rate 90 +6 +0 ")

    def test_keys(self):
        served = Served(env={"INGOT_API_KEY": "sixteen-letters-or-more"})
        self.addCleanup(served.stop)
        refused = self.assert_error(self.bench(served.url, *SMALL), UNAVAILABLE, "/v1/models")
        self.assertIn("401", refused)
        for name in ("INGOT_API_KEY", "OPENAI_API_KEY"):
            found = self.found(served.url, *SMALL, env={name: "sixteen-letters-or-more"})
            self.assertEqual(found["completed"], 6)
            self.assertNotIn("sixteen", json.dumps(found))
        self.assert_error(self.bench(served.url, env={"OPENAI_API_KEY": "a\r\nX: y"}), USAGE,
                          "OPENAI_API_KEY")

    @unittest.skipUnless(shutil.which("openssl"), "no openssl")
    def test_tls(self):
        key, cert = self.path("key.pem"), self.path("cert.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", cert,
                        "-days", "2", "-subj", "/CN=localhost", "-addext",
                        "subjectAltName=DNS:localhost,IP:127.0.0.1"],
                       check=True, capture_output=True)
        served = Served("--tls-cert", cert, "--tls-key", key, scheme="https")
        self.addCleanup(served.stop)
        port = served.url.rsplit(":", 1)[1]
        self.assert_error(self.bench(served.url, *SMALL), UNAVAILABLE, "certificate verify failed")
        self.assertEqual(self.found(served.url, *SMALL, "--insecure")["completed"], 6)
        for host in ("localhost", "127.0.0.1"):
            found = self.found(f"https://{host}:{port}", *SMALL, env={"SSL_CERT_FILE": cert})
            self.assertEqual(found["completed"], 6)
        plain_text = self.bench(f"http://127.0.0.1:{port}", *SMALL, "--model", "x", "--json")
        self.assertEqual(plain_text.code, CHECK_FAILED, plain_text)

    def test_a_server_that_dies(self):
        served = Served()
        self.addCleanup(served.stop)
        process = ingot.start("bench", "serve", served.url, "--json", "--requests", "4000",
                              "--concurrency", "16", "--output-len", "60", env=KEYS)
        eventually("ten answers", lambda: served.ended() >= 10)
        served.stop()
        result = ingot.finish(process)
        found = json.loads(result.out)
        self.assertEqual(result.code, CHECK_FAILED, result)
        self.assertEqual(found["completed"] + found["failed"], 4000)
        self.assertGreater(found["completed"], 0)
        self.assertGreater(found["errors_by_status"]["connection"], 0)
        self.assertIn("requests failed, the first one with: ", result.err)

    def test_an_interruption(self):
        before = self.served.ended()
        process = ingot.start("bench", "serve", self.url, "--requests", "1000", "--rate", "10",
                              env=KEYS)
        eventually("an answer", lambda: self.served.ended() > before)
        process.send_signal(signal.SIGINT)
        result = ingot.finish(process)
        self.assertEqual((result.code, result.out), (130, b""), result)

    def test_help(self):
        *_, codes, example = run("bench", "serve", "--help").out.decode().split("\n")[:-1]
        self.assertTrue(example.startswith("Example: ingot bench serve http"), example)
        self.assertIn("69 ", codes)


class OtherServers(BenchServeTest):
    SOME = (*SMALL, "--model", "m")

    def test_a_full_queue(self):
        def answer(number, _):
            yield plain(429 if number % 2 else 503, {"error": {"message": "busy"}})
        with FakeServer(answer) as server:
            found = self.found(server.url, *self.SOME, code=CHECK_FAILED)
        self.assertEqual((found["completed"], found["rejected"], found["failed"]), (0, 6, 0))
        self.assertEqual(found["errors_by_status"], {"429": 3, "503": 3})
        self.assertGreater(found["mean_rejected_ms"], 0)
        self.assertEqual(len(server.requests), 6, "nothing is tried again")

    def test_what_cannot_be_checked_is_no_mismatch(self):
        def answer(number, _):
            yield whole() if number < 6 else plain(503, {"error": {"message": "later"}})
        with FakeServer(answer) as server:
            result = self.bench(server.url, "--json", *self.SOME, "--check", "2")
        self.assertEqual(result.code, CHECK_FAILED)
        self.assertIn("2 of 2 requests could not be checked, the first one with: status 503: later",
                      result.err)
        found = json.loads(result.out)
        self.assertEqual((found["completed"], found["checked"], found["mismatches"],
                          found["check_failed"]), (6, 2, 0, 2))

    def test_a_token_needs_no_text(self):
        """Half a character, a control token: its time counts."""
        def answer(*_):
            yield (STREAM + 3 * piece("") + piece("", "length") + chunk(b"data: [DONE]\n\n")
                   + chunk(b""))
        with FakeServer(answer) as server:
            found = self.found(server.url, *self.SOME)
        self.assertEqual(found["total_output_tokens"], 3 * found["completed"])

    def test_requests(self):
        def answer(*_):
            yield whole()
        with FakeServer(answer) as server:
            found = self.found(server.url + "/deep", *self.SOME, "--concurrency", "2", "--seed",
                               "3", "--temperature", "0.5", env={"OPENAI_API_KEY": "key"})
            self.found(server.url, *self.SOME, "--endpoint", "chat", "--no-ignore-eos")
        self.assertEqual(found["completed"], 6)
        self.assertEqual(found["without_usage"], 6)
        self.assertIsNone(found["cache_hit_rate"], "nobody said")
        self.assertIsNone(found["preemptions"])
        self.assertEqual(found["total_output_tokens"], 12, "pieces, where nobody counts")
        self.assertLessEqual(server.connections, 2 + 7)
        head, body = server.requests[0]
        self.assertTrue(head.startswith("POST /deep/v1/completions HTTP/1.1\r\n"), head)
        self.assertIn("Authorization: Bearer key\r\n", head)
        self.assertIn(f"Host: {server.url[7:]}\r\n", head)
        body = json.loads(body)
        self.assertEqual(body["stream_options"], {"include_usage": True})
        self.assertEqual((body["model"], body["temperature"], body["ignore_eos"], body["stream"]),
                         ("m", 0.5, True, True))
        self.assertTrue(all(300 <= i <= 1999 for i in body["prompt"]))
        self.assertEqual(len({json.loads(b)["seed"] for _, b in server.requests[:6]}), 6)
        head, body = server.requests[-1]
        self.assertIn("POST /v1/chat/completions ", head)
        self.assertNotIn("Authorization", head)
        body = json.loads(body)
        self.assertNotIn("ignore_eos", body)
        text = body["messages"][0]["content"]
        self.assertTrue(8 <= len(text.split()) <= 20, text)

    def test_what_differs_alone_is_a_mismatch(self):
        def answer(number, _):
            yield whole(f"answer {number}")
        with FakeServer(answer) as server:
            result = self.bench(server.url, *self.SOME, "--check", "4", "--json")
        self.assertEqual(json.loads(result.out)["mismatches"], 4)
        self.assert_error(result, CHECK_FAILED, "mismatch: 4 of 4", out=result.out)

    def test_answers_that_break_off(self):
        endings = {
            "stream": [(STREAM, piece("a"), None), (STREAM, piece("a"), chunk(b"")),
                       (STREAM, chunk(b'data: {"error": {"message": "lost"}}\n\n'), chunk(b"")),
                       (STREAM, chunk(b"data: {\n\n"), chunk(b"")), (STREAM, b"xyz\r\n"),
                       (plain(200, {"no": "choices"}),)],
            "connection": [(None,), (b"HTTP/1.1 2", None), (b"SSH-2.0-x\r\n\r\n", None)],
            "500": [(plain(500, {"error": "broken"}),), (plain(500, [], "Connection: close\r\n"),)]}
        for kind, answers in endings.items():
            for parts in answers:
                with self.subTest(parts=parts), FakeServer(lambda *_, p=parts: iter(p)) as server:
                    found = self.found(server.url, *self.SOME, code=CHECK_FAILED)
                    self.assertEqual((found["completed"], found["failed"]), (0, 6))
                    self.assertEqual(found["errors_by_status"], {kind: 6})

    def test_an_answer_that_is_no_stream(self):
        def answer(*_):
            yield plain(200, {"choices": [{"text": "ab", "finish_reason": "stop"}],
                              "usage": {"prompt_tokens": 5, "completion_tokens": 2}})
        with FakeServer(answer) as server:
            found = self.found(server.url, *self.SOME, "--check", "3")
        self.assertEqual((found["completed"], found["mismatches"]), (6, 0))
        self.assertEqual((found["total_input_tokens"], found["total_output_tokens"]), (30, 12))

    def test_no_end_within_the_time(self):
        measured = threading.Event()

        def answer(*_):
            yield STREAM + piece("a")
            measured.wait(ingot.TIMEOUT_S)
            yield None
        with FakeServer(answer) as server:
            result = self.bench(server.url, *self.SOME, "--timeout", "0.3", "--json")
            measured.set()
            self.assert_error(result, CHECK_FAILED, "no end within 0.3 s", out=result.out)
        self.assertLess(json.loads(result.out)["duration"], 2)

    def test_connections_that_the_server_ended_are_not_used_again(self):
        def answer(*_):
            yield whole()
            yield None
        # Half a second between requests, so that an end has come before the next one is sent.
        path = self.file("gaps.csv", b"TIMESTAMP,ContextTokens,GeneratedTokens\n" + b"".join(
            b"2023-11-16 18:17:%02d,10,3\n" % second for second in (0, 5, 10)))
        with FakeServer(answer) as server:
            found = self.found(server.url, "--model", "m", "--trace", path, "--speedup", "10")
        self.assertEqual((found["completed"], server.connections), (3, 3))

    def test_a_connection_that_ends_as_it_is_used_again_is_replaced_once(self):
        def answer(number, _):
            # The second request is lost with the first one's connection and sent again; the third
            # one is lost twice.
            yield None if number in (1, 3, 4) else whole()
        with FakeServer(answer) as server:
            found = self.found(server.url, "--model", "m", "--requests", "3", "--concurrency", "1",
                               code=CHECK_FAILED)
        self.assertEqual((found["completed"], found["reconnects"]), (2, 2))
        self.assertEqual(found["errors_by_status"], {"connection": 1})
        self.assertEqual(len({body for _, body in server.requests[1:3]}), 1)
        self.assertEqual((len(server.requests), server.connections), (5, 3))

    def test_models(self):
        for body in ({}, {"data": []}, {"data": [{"id": 4}]}, []):
            with FakeServer(lambda *_, b=body: iter([plain(200, b)])) as server:
                self.assert_error(self.bench(server.url, *SMALL), UNAVAILABLE, "names no model")
        hostile = {"data": [{"id": "<script>\u202e\n\"x\""}]}

        def answer(number, _):
            yield plain(200, hostile) if number == 0 else whole()
        with FakeServer(answer) as server:
            self.assert_done(self.bench(server.url, *SMALL))
        self.assertEqual(json.loads(server.requests[1][1])["model"], hostile["data"][0]["id"])

    def test_nobody_is_there(self):
        with FakeServer(lambda *_: iter(())) as server:
            url = server.url
        line = self.assert_error(self.bench(url, *SMALL), UNAVAILABLE, "cannot connect to ")
        self.assertIn(url[7:], line)
        self.assert_error(self.bench("unix:" + self.path("absent")), UNAVAILABLE)
        self.assert_error(self.bench("http://name.invalid:1", *SMALL), UNAVAILABLE, "name.invalid")

    def test_errors_of_usage(self):
        for args in ((), ("nothing",), ("ftp://h",), ("http://h", "more"), ("http://h:0",)):
            with self.subTest(args=args):
                self.assert_error(run("bench", "serve", *args, env=KEYS), USAGE)
        for args in (("--sweep", ""), ("--sweep", "1,"), ("--sweep", "0"), ("--sweep", "1;2"),
                     ("--sweep", "concurrency:"), ("--sweep", "concurrency:0"),
                     ("--sweep", "1", "--rate", "2"), ("--sweep", "1", "--concurrency", "2"),
                     ("--sweep", ",".join(["1"] * 65)), ("--prompt-ids", "5"),
                     ("--prompt-ids", "5:4"), ("--prompt-ids", ":"), ("--prompt-ids", "-1:4"),
                     ("--endpoint", "embeddings"), ("--timeout", "0"), ("--ctx", "1"),
                     ("--check", "-1"), ("--json", "--markdown"),
                     ("--dataset", "x", "--trace", "y"),
                     ("--dataset", "x", "--input-len", "3"), ("--goodput", "itl:3"),
                     ("--concurrency", "2", "--rate", "3"), ("--rate", "0"), ("--threads", "2")):
            with self.subTest(args=args):
                self.assert_error(self.bench("http://127.0.0.1:9", *args), USAGE)
        with FakeServer(lambda *_: iter(())) as server:
            self.assert_error(self.bench(server.url, "--model", "m", "--trace",
                                         self.path("absent.csv")), MODEL)


if __name__ == "__main__":
    ingot.main()
