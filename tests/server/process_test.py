#!/usr/bin/env python3
"""Tests the process of `ingot serve`: addresses, API keys, signals and exit codes (K03, K04, K09,
K10), and how it stops (P9)."""
import fcntl
import glob
import json
import os
import re
import signal
import socket
import time

import server
from server import CHAT, TEXT, Server, Wire, eventually, head, ingot, post
import faults  # noqa: E402  (found through server)

DRAINED, FORCED, UNAVAILABLE = 0, 3, 69
KEY = "a-key-of-16-characters"
LONG = {"prompt": "x", "max_tokens": 8000, "ignore_eos": True, "stream": True}
# Seconds of a limit that no test comes to: the test's own hang timeout ends before.
NEVER = "600"


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


class ProcessTest(ingot.CliTest):
    def serve(self, *args, **how):
        started = Server(*args, **how)
        self.addCleanup(started.kill)
        return started

    def wire(self, served, data, **how):
        """A connection on which this was sent."""
        wire = Wire(served, **how)
        self.addCleanup(wire.socket.close)
        return wire.send(data)

    def refuses(self, code, *args, says=(), **how):
        port = () if "--port" in args else ("--port", "0")
        result = ingot.run("serve", *port, "--log-level", "error", *args, **how)
        return self.assert_error(result, code, *says)

    def keys(self, text, mode=0o600):
        path = self.file("keys.txt", text if isinstance(text, bytes) else text.encode())
        os.chmod(path, mode)
        return path


class Addresses(ProcessTest):
    def test_k03_a_port_in_use(self):
        with socket.socket() as held:
            held.bind(("127.0.0.1", 0))
            held.listen()
            port = held.getsockname()[1]
            self.refuses(UNAVAILABLE, "--port", str(port), says=[f"127.0.0.1:{port}"])

    def test_k03_an_address_of_another_machine(self):
        self.refuses(UNAVAILABLE, "--host", "192.0.2.1", "--i-accept-no-auth", says=["192.0.2.1"])
        self.refuses(UNAVAILABLE, "--host", "not an address", "--i-accept-no-auth")

    def test_k03_others_only_with_keys(self):
        for host in ("0.0.0.0", "::", "192.0.2.1"):
            self.refuses(ingot.USAGE, "--host", host, says=["API key"])
        for args, env in ((("--i-accept-no-auth",), {}),
                          (("--api-key-file", self.keys(KEY)), {}), ((), {"INGOT_API_KEY": KEY})):
            served = self.serve("--host", "0.0.0.0", *args, env=env)
            status = served.get("/v1/models").status
            self.assertEqual(status, 200 if not env and len(args) == 1 else 401)
            self.assertEqual(served.stop(), DRAINED)

    def test_k03_every_page_only_with_keys(self):
        self.refuses(ingot.USAGE, "--cors-origin", "*", says=["--cors-origin"])

    def test_names_of_the_model(self):
        self.refuses(ingot.USAGE, "--model-name", "a", "--model-name", "a",
                     says=("--model-name", "twice"))
        self.refuses(ingot.USAGE, "--model-name", "a", "--model-name", "", says=("--model-name",))

    def test_k03_ipv6(self):
        if not has_ipv6():
            self.skipTest("this machine has no ::1")
        served = Server("--host", "::1", ready=False)
        self.addCleanup(served.kill)
        line = served.line("listening on ")
        self.assertRegex(line, r"http://\[::1\]:[0-9]+$")
        served.family, served.address = socket.AF_INET6, ("::1", int(line.rsplit(":", 1)[1]))
        self.assertEqual(served.exchange(head(host="[::1]")).status, 200)
        self.assertEqual(served.stop(), DRAINED)

    def test_k03_both_loopback_addresses_by_default(self):
        for args in ((), ("--host", "localhost")):
            served = self.serve(*args)
            self.assertRegex(served.line("listening on "), r"http://127\.0\.0\.1:[0-9]+$")
            port = served.address[1]
            # With v6 off nothing listens there, which does no harm.
            for host, family in (("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)):
                if family == socket.AF_INET6 and not has_ipv6():
                    continue
                served.family, served.address = family, (host, port)
                self.assertEqual(served.get("/health").status, 200)
            self.assertEqual(served.stop(), DRAINED)

    def test_k03_the_second_loopback_address_in_use(self):
        """Clients of localhost would reach another server."""
        if not has_ipv6():
            self.skipTest("this machine has no ::1")
        with socket.socket(socket.AF_INET6) as held:
            held.bind(("::1", 0))
            held.listen()
            port = held.getsockname()[1]
            self.refuses(UNAVAILABLE, "--port", str(port), says=[f"[::1]:{port}"])
            served = self.serve("--host", "127.0.0.1", port=port)
            self.assertEqual(served.stop(), DRAINED)

    def test_k03_a_unix_socket_of_its_owner_alone(self):
        path = self.path("ingot.sock")
        for _ in range(2):  # the second time over what the first left, were it killed
            served = self.serve("--unix-socket", path, unix_socket=False)
            self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
            # A socket with a listener is not taken away.
            self.refuses(UNAVAILABLE, "--unix-socket", path)
            served.family, served.address = socket.AF_UNIX, path
            self.assertEqual(served.exchange(head(host="anything")).status, 200)
            self.assertTrue(served.answer())
            served.process.kill()
            served.wait()
            self.assertTrue(os.path.exists(path))
        served = self.serve("--unix-socket", path, unix_socket=False)
        self.assertEqual(served.stop(), DRAINED)
        self.assertFalse(os.path.exists(path))
        kept = self.file("a-file", b"kept")
        self.refuses(UNAVAILABLE, "--unix-socket", kept)
        with open(kept, "rb") as f:
            self.assertEqual(f.read(), b"kept")
        self.refuses(UNAVAILABLE, "--unix-socket", self.path("x" * 200))


class KeyFiles(ProcessTest):
    def bad(self, *says):
        line = self.refuses(ingot.USAGE, "--api-key-file", self.path("keys.txt"), says=says)
        self.assertNotIn(KEY, line)

    def test_k04_files_that_are_refused(self):
        self.bad("keys.txt")  # not there yet
        for mode in (0o644, 0o640, 0o604, 0o660):
            self.keys(KEY, mode)
            self.bad("chmod 600")
        for text in ("", "\n\n# a comment\n", "short", "id:short", "x" * (1 << 20),
                     b"\xff" * 20, "a key with spaces in it", f"{KEY}\nshort"):
            self.keys(text)
            self.bad("keys.txt")
        os.unlink(self.path("keys.txt"))
        for make in (os.mkdir, os.mkfifo):
            make(self.path("keys.txt"))
            os.chmod(self.path("keys.txt"), 0o600)
            self.bad("keys.txt")
            (os.rmdir if make is os.mkdir else os.unlink)(self.path("keys.txt"))
        self.refuses(ingot.USAGE, env={"INGOT_API_KEY": "short"}, says=["INGOT_API_KEY"])

    def test_k04_line_ends_and_ids(self):
        other = "another-key-of-some-length"
        served = self.serve("--api-key-file",
                            self.keys(f"# keys\r\nalice:{KEY}  \r\n\r\n{other}\t\r\n"))
        for key, status in ((KEY, 200), (other, 200), (f"alice:{KEY}", 401), (KEY[:-1], 401),
                            (KEY + "x", 401), ("", 401), ("alice", 401), ("# keys", 401)):
            with self.subTest(key=key):
                reply = served.get("/v1/models", [("Authorization", f"Bearer {key}")])
                self.assertEqual(reply.status, status)
        self.assertEqual(served.stop(), DRAINED)


    def test_keys_of_a_file_and_of_the_environment(self):
        other = "another-key-of-some-length"
        served = self.serve("--api-key-file", self.keys(f"alice:{KEY}\n"),
                            env={"INGOT_API_KEY": other})
        for key, status in ((KEY, 200), (other, 200), (KEY + "x", 401)):
            reply = served.get("/v1/models", [("Authorization", f"Bearer {key}")])
            self.assertEqual(reply.status, status, key)
        self.assertEqual(served.stop(), DRAINED)


class Starting(ProcessTest):
    def test_who_comes_early_is_told_so_and_does_not_disturb_the_self_test(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        served = Server("--sequences", "1", "--queue", "1", ready=False, port=port)
        self.addCleanup(served.kill)
        served.address = ("127.0.0.1", port)

        def connected():
            try:
                return self.wire(served, post(TEXT, {**LONG, "max_tokens": 200}))
            except ConnectionError:
                return None
        wires = []
        eventually("it listens", lambda: wires.append(connected()) or wires[-1])
        early = [w for w in wires if w]
        wires = [connected() for _ in range(5)]
        reply = early[0].reply()
        self.assertEqual((reply.status, reply.error()["code"]), (503, "loading"), reply)
        self.assertEqual((reply.field("Retry-After"), reply.field("Connection")), ("1", "close"))
        served.line("listening on ")
        statuses = [wire.until(b" ")[-9:] + wire.until(b" ") for wire in wires]
        self.assertLessEqual(set(statuses), {f"HTTP/1.1 {n} ".encode() for n in (200, 429, 503)})
        for wire in early + wires:
            wire.socket.close()
        self.assertEqual(served.post(TEXT, {"prompt": "x", "max_tokens": 1}).status, 200)
        self.assertEqual(served.stop(), DRAINED)


class Probes(ProcessTest):
    def test_a_long_step_turns_readiness_and_not_health(self):
        served = self.serve("--ctx", "131072", "--kv-tokens", "131072", "--step-rows", "16384",
                            "--target-itl-ms", "60000", "--threads", "1")
        self.assertEqual(served.get("/readyz").status, 200)
        self.wire(served, post(TEXT, {"prompt": [5] * 131000, "max_tokens": 1}))
        eventually("a step takes over 5 s", lambda: served.get("/readyz").status == 503)
        self.assertEqual(served.get("/health").status, 200)
        self.assertEqual(served.get("/livez").status, 200)

    def test_the_pack_cache_is_written_before_the_sandbox_is_on(self):
        """Deleting the file harms no server that maps it."""
        model, home = self.path("large.gguf"), self.path("home")
        self.assert_done(ingot.run("synth", "tiny", model, "--type", "F32", "--layers", "16"))
        replies = []
        for is_kept in (False, True):
            served = self.serve(model, "--sandbox", env={"XDG_CACHE_HOME": home})
            path, = glob.glob(os.path.join(home, "ingot", "packed", "*"))
            kept = [line for line in served.lines if "are kept in" in line]
            self.assertEqual(len(kept), 0 if is_kept else 1, served.lines)
            said = next(json.loads(line[line.index("{"):]) for line in served.lines
                        if "serving " in line)
            self.assertIs(said["packed_weights_kept"], True)
            self.assertEqual(said["pack_cache"], os.path.dirname(path))
            props = served.get("/props").json()["settings"]
            self.assertIs(props["packed_weights_kept"], True)
            self.assertNotIn("pack_cache", props, "paths are the operator's")
            if is_kept:
                os.unlink(path)
            reply = served.post(TEXT, {"prompt": [5, 6], "max_tokens": 4, "temperature": 0})
            self.assertEqual(reply.status, 200)
            replies.append(reply.json()["choices"])
            self.assertEqual(served.stop(), DRAINED)
        self.assertEqual(replies[0], replies[1])

    def test_props_name_the_types_of_weights_and_of_keys_and_values(self):
        model = self.path("f32.gguf")
        self.assert_done(ingot.run("synth", "tiny", model, "--type", "F32"))
        fingerprints = set()
        for weights, options, kv_type in (("stored", (), "f16"), ("bf16", (), "bf16"),
                                          ("bf16", ("--kv-type", "f16"), "f16")):
            served = self.serve(model, "--weights", weights, *options)
            props = served.get("/props").json()
            self.assertEqual(props["settings"]["kv_type"], kv_type)
            self.assertEqual(props["settings"]["weights"], weights)
            fingerprints.add(props["system_fingerprint"])
            self.assertEqual(served.stop(), DRAINED)
        self.assertEqual(len(fingerprints), 3)

    def test_f8_weights_that_are_overwritten_end_it(self):
        model, cache = self.path("m.gguf"), self.path("packed")
        self.assert_done(ingot.run("synth", "tiny", model, "--type", "Q8_0"))
        request = {"prompt": [5, 6], "max_tokens": 1}
        for is_mapped in (False, True):  # the first one packs the weights, the second one maps them
            served = self.serve(model, "--pack-cache", cache)
            path, = glob.glob(os.path.join(cache, "*"))
            # Changes of no byte do not matter: a name more and less, another mode.
            os.link(path, path + ".copy")
            os.unlink(path + ".copy")
            os.chmod(path, 0o640)
            self.assertEqual(served.post(TEXT, request).status, 200)
            with open(path, "r+b") as file:
                file.seek(-1, os.SEEK_END)
                last = file.read(1)
                file.seek(-1, os.SEEK_END)
                file.write(last)
            if is_mapped:
                self.assertEqual(served.wait(), 74)
                self.assertTrue(served.lines[-1].startswith(f"error: {path}: file @0: "),
                                served.lines)
            else:
                self.assertEqual(served.post(TEXT, request).status, 200)
                self.assertEqual(served.stop(), DRAINED)


class Stopping(ProcessTest):
    def held_stream(self, served, **more):
        """A stream that its client does not read, so that it cannot end."""
        wire = self.wire(served, post(TEXT, {**LONG, "logprobs": 20, **more}), narrow=True)
        eventually("it is paused", lambda: served.metric("ingot:num_requests_paused") >= 1)
        return wire

    def is_draining(self, served):
        return served.get("/readyz").status == 503

    def test_p9_drained(self):
        served = self.serve("--ctx", "8192", "--drain-timeout", "120")
        held = self.held_stream(served, max_tokens=1000)
        streams = [self.wire(served, post(TEXT, {**LONG, "max_tokens": 200}))
                   for _ in range(4)]
        for wire in streams:
            wire.until(b'"text"')
        served.signal(signal.SIGTERM)
        eventually("it drains", lambda: self.is_draining(served))
        for path in ("/health", "/readyz"):
            reply = served.get(path)
            self.assertEqual((reply.status, reply.field("Retry-After")), (503, "1"), reply)
        self.assertEqual(served.get("/livez").status, 200)
        self.assertEqual(served.get("/metrics").status, 200)
        for path, body in ((CHAT, {"messages": [{"role": "user", "content": "x"}]}),
                           (TEXT, {"prompt": "x"}), (TEXT, {"prompt": "x", "stream": True})):
            reply = served.post(path, body)
            self.assertEqual((reply.status, reply.error()["code"]), (503, "draining"), reply)
            self.assertEqual(reply.field("Retry-After"), "1")
        # The refusals come before the drain ends: the unread stream still runs.
        self.assertGreaterEqual(served.metric("ingot:num_requests_paused"), 1)
        for wire in streams:
            wire.until(b"data: [DONE]\n\n\r\n0\r\n\r\n")
        # It waits for the unread one.
        self.assertIsNone(served.process.poll())
        held.until(b"data: [DONE]\n\n\r\n0\r\n\r\n")
        self.assertEqual(served.wait(), DRAINED)

    def test_p9_a_list_of_prompts_is_drained_to_its_end(self):
        served = self.serve("--ctx", "8192", "--sequences", "1", "--drain-timeout", "120")
        held = self.held_stream(served, prompt=["x"] * 5, max_tokens=400)
        served.signal(signal.SIGTERM)
        eventually("it drains", lambda: self.is_draining(served))
        content = held.until(b"data: [DONE]\n\n\r\n0\r\n\r\n")
        self.assertEqual(content.count(b'"finish_reason":"length"'), 5)
        self.assertEqual(served.wait(), DRAINED)

    def test_p9_forced(self):
        served = self.serve("--ctx", "8192", "--drain-timeout", "0")
        streams = [self.wire(served, post(TEXT, LONG)) for _ in range(4)]
        whole = self.wire(served, post(TEXT, {**LONG, "stream": False}))
        for wire in streams:
            wire.until(b'"text"')
        eventually("all run", lambda: served.metric("vllm:num_requests_running") == 5)
        served.signal(signal.SIGTERM)
        for wire in streams:
            rest = wire.ends()
            self.assertTrue(b'"code":"draining"' in rest and b"[DONE]" not in rest, rest[-500:])
        reply = whole.reply()
        self.assertEqual((reply.status, reply.error()["code"]), (503, "draining"))
        self.assertEqual(served.wait(), FORCED)

    def test_p9_who_reads_a_whole_response_slowly_has_the_drains_time_too(self):
        for seconds, reads in ((NEVER, True), ("1", False)):
            served = self.serve("--drain-timeout", seconds)
            text = {"prompt": "a word " * 200000, "return_token_strs": True}
            wire = self.wire(served, post("/tokenize", text), narrow=True)
            self.assertEqual(wire.until(b" "), b"HTTP/1.1 ")
            served.signal(signal.SIGTERM)
            eventually("new connections are refused", lambda: not self.is_listening(served))
            if reads:
                self.assertIsNone(served.process.poll())
                self.assertTrue(wire.ends().endswith(b"]}"))
            self.assertEqual(served.wait(), DRAINED if reads else FORCED)

    @staticmethod
    def is_listening(served):
        try:
            Wire(served).socket.close()
        except ConnectionError:
            return False
        return True

    def test_p9_forced_with_readers_that_do_not_read(self):
        patient = self.serve("--ctx", "8192", "--drain-timeout", NEVER, "--write-stall", NEVER)
        served = self.serve("--ctx", "8192", "--drain-timeout", "1")
        for each in (patient, served):
            self.held_stream(each)
        patient.signal(signal.SIGTERM)
        begin = time.monotonic()
        served.signal(signal.SIGTERM)
        self.assertEqual(served.wait(), FORCED)
        self.assertGreater(time.monotonic() - begin, 0.9)
        # The limit decides: the server with a longer one began to drain earlier, and still drains.
        self.assertTrue(self.is_draining(patient))

    def test_p9_the_log_has_the_start_and_the_end_of_a_drain(self):
        for seconds, number, code in (("0", signal.SIGINT, FORCED),
                                      (NEVER, signal.SIGTERM, DRAINED)):
            served = self.serve("--ctx", "8192", "--sequences", "1", "--drain-timeout", seconds,
                                "--log-level", "error")
            eventually("it is at rest", lambda: served.metric("vllm:num_requests_running") == 0)
            body = {**LONG, "stream": False, "max_tokens": 1500}
            wires = [self.wire(served, post(TEXT, body)) for _ in range(2)]
            eventually("one runs and one waits", lambda: (
                served.metric("vllm:num_requests_running"),
                served.metric("vllm:num_requests_waiting")) == (1, 1))
            served.signal(number)
            for wire in wires:
                self.assertEqual(wire.reply().status, 503 if code == FORCED else 200)
            self.assertEqual(served.wait(), code)
            events = [json.loads(line) for line in served.lines if line.startswith("{")]
            begin, end = (e for e in events if e["event"] in ("draining", "drained"))
            self.assertEqual((begin["event"], begin["cause"], begin["running"], begin["waiting"]),
                             ("draining", number.name, 1, 1))
            self.assertLessEqual(begin["until"], begin["time"] + float(seconds))
            self.assertEqual((end["event"], end["finished"], end["cut"]),
                             ("drained", *((0, 2) if code == FORCED else (2, 0))))
            self.assertGreaterEqual(end["seconds"], 0)

    def test_k10_a_second_signal(self):
        for first, second in ((signal.SIGTERM, signal.SIGTERM), (signal.SIGINT, signal.SIGINT),
                              (signal.SIGINT, signal.SIGTERM)):
            # Only the second signal can end it before the hang timeout does.
            served = self.serve("--ctx", "8192", "--drain-timeout", NEVER)
            self.held_stream(served)
            served.signal(first)
            eventually("it drains", lambda: self.is_draining(served))
            served.signal(second)
            self.assertEqual(served.wait(), FORCED)

    def test_k10_a_hundred_signals(self):
        served = self.serve("--ctx", "8192", "--drain-timeout", "1")
        self.held_stream(served)
        for _ in range(100):
            if served.process.poll() is None:
                served.signal(signal.SIGTERM)
        self.assertEqual(served.wait(), FORCED)

    def test_k10_stopped_and_continued(self):
        served = self.serve("--ctx", "8192", "--idle-timeout", "5")
        body = {**LONG, "max_tokens": 500}
        streams = [self.wire(served, post(TEXT, body)) for _ in range(2)]
        for wire in streams:
            wire.until(b"\r\n\r\n")
        served.signal(signal.SIGSTOP)
        # The time that passes is what is tested: clocks run while the process is stopped.
        time.sleep(1)
        served.signal(signal.SIGCONT)
        for wire in streams:
            self.assertEqual(wire.chunks().count(b"[DONE]"), 1)
        self.assertEqual(served.get("/health").status, 200)
        self.assertEqual(served.stop(), DRAINED)

    def test_k09_idle(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # A server that waits for its idle connections does not end before the hang timeout.
            served = self.serve("--drain-timeout", NEVER, "--idle-timeout", NEVER)
            for sent in (b"", b"GET / HT"):
                self.wire(served, sent)
            self.wire(served, head()).reply()
            served.signal(number)
            self.assertEqual(served.wait(), DRAINED)

    def test_k09_prefill(self):
        served = self.serve("--ctx", "4096")
        # The gauge may still have the self-test's request, which would be taken for this one.
        eventually("it is at rest", lambda: served.metric("vllm:num_requests_running") == 0)
        wire = self.wire(served, post(TEXT, {"prompt": [5] * 4000, "max_tokens": 2}))
        eventually("it runs", lambda: served.metric("vllm:num_requests_running") == 1)
        served.signal(signal.SIGTERM)
        self.assertEqual(wire.reply().status, 200)
        self.assertEqual(served.wait(), DRAINED)

    def test_k08_a_log_on_a_full_disk(self):
        with open("/dev/full", "wb") as full:
            self.loses_lines(full)

    def test_k08_a_log_without_a_reader(self):
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
        with open(writer, "wb") as pipe:
            self.loses_lines(pipe)

    def loses_lines(self, log):
        """The server continues, and counts lost lines."""
        process = ingot.start("serve", "--port", "0", "--log-requests", "--log-level", "error",
                              stderr=log)
        self.addCleanup(ingot.stop, process)
        port = listening_port(process.pid)
        served = object.__new__(Server)
        served.process, served.family, served.address = process, socket.AF_INET, ("127.0.0.1", port)
        eventually("it is ready", lambda: served.get("/health").status == 200)
        for _ in range(40):
            self.assertTrue(served.answer())
        eventually("lines are counted", lambda: served.metric("ingot:log_dropped_total") >= 1)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(server.LIMIT_S), DRAINED)


def listening_port(pid):
    """The port on which a process listens, from the system's table."""
    found = []

    def look():
        inodes = set()
        for fd in os.listdir(f"/proc/{pid}/fd"):
            try:
                link = os.readlink(f"/proc/{pid}/fd/{fd}")
            except FileNotFoundError:
                continue
            match = re.fullmatch(r"socket:\[([0-9]+)\]", link)
            inodes.update([match[1]] if match else [])
        with open(f"/proc/{pid}/net/tcp", encoding="ascii") as f:
            for line in f.readlines()[1:]:
                fields = line.split()
                if fields[3] == "0A" and fields[9] in inodes:
                    found.append(int(fields[1].split(":")[1], 16))
        return bool(found)
    eventually("it listens", look)
    return found[0]


class Loading(faults.FaultTest):
    def test_k09_while_loading(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            for call in ("stat", "mmap"):
                with self.subTest(signal=number, call=call):
                    with self.stopped("serve", self.model, "--port", "0", at=1, path=self.model,
                                      call=call) as (process, go_on):
                        self.assertIsNotNone(go_on)
                        process.send_signal(number)
                        # It ends while the call holds it.
                        result = ingot.finish(process)
                        go_on()
                    self.assertEqual(result.code, code, result)


if __name__ == "__main__":
    server.main()
