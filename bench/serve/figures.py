#!/usr/bin/env python3
"""Measures a running server under load and under attack; prints one line of JSON per figure.

usage: bench/serve/figures.py [--model FILE] [NAME...]

Starts `ingot serve` (INGOT_BINARY, else build/release/ingot) for each NAME, by default with the
built-in model; exits 1 if a limit was missed. Names: overhead, overload, streams, constrained,
drain, descriptors, idle, readers, domains, mix, soak; without NAME all of them. Run it on an idle
machine only: other work changes every figure.

A model for `constrained` (the folder has Qwen2's vocab.json and merges.txt):
    build/release/ingot synth qwen3-0.6b BARE --type Q8_0
    bench/vocabulary.py BARE FILE ../shared/data/tokenizers/qwen2
"""
import concurrent.futures
import itertools
import json
import os
import random
import resource
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
os.environ.setdefault("INGOT_BINARY", os.path.join(ROOT, "build", "release", "ingot"))
sys.path.insert(0, os.path.join(ROOT, "tests", "server"))
import server  # noqa: E402  (found through the line above)

BINARY = os.environ["INGOT_BINARY"]
CPUS = sorted(os.sched_getaffinity(0))
MODEL = []
GENERATOR = []  # what the load generator is started with
missed = []


def figure(name, value, limit=None, at_least=False, **more):
    """Prints a figure; remembers it where it misses its limit."""
    good = limit is None or (value >= limit if at_least else value <= limit)
    if not good:
        missed.append(name)
    print(json.dumps({"figure": name, "value": value, "limit": limit, "good": good, **more}),
          flush=True)


def percentile(values, part):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def running(*args, **how):
    return server.Server(*MODEL, *args, **how)


def cpu_seconds(one):
    """CPU time of the server so far."""
    with open(f"/proc/{one.process.pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def bench(one, *args):
    """`ingot bench serve` against the server; its JSON."""
    url = f"http://{one.address[0]}:{one.address[1]}"
    done = subprocess.run([*GENERATOR, BINARY, "bench", "serve", url, "--json", *args],
                          check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return json.loads(done.stdout)


def in_process(*args):
    done = subprocess.run([BINARY, "bench", "serve-inproc", "--json", *args], check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return json.loads(done.stdout)


def apart():
    """From here on the server has all CPUs but one, and the load generator has that one: what the
    generator costs is no cost of the server. Returns the threads that the model gets."""
    if len(CPUS) < 2:
        sys.exit("error: the load generator needs a CPU of its own, and there is one in all")
    os.sched_setaffinity(0, CPUS[:-1])
    GENERATOR[:] = ["taskset", "-c", str(CPUS[-1])]
    return str(len(CPUS) - 1)


def story(seed, tokens=64, **more):
    return server.post(server.TEXT, {"prompt": "Once upon a time", "max_tokens": tokens,
                                     "seed": seed, "ignore_eos": True, "stream": True, **more})


def overhead():
    """Throughput at 32 streams beside the engine's own in a process without a server, in turn, each
    run in a new process, since processes differ by some percent. Each run has new prompts, which no
    cache holds, and as much memory for keys and values."""
    with_http, alone = [], []
    threads = apart()
    for seed in range(21):
        load = ("--requests", "192", "--concurrency", "32", "--input-len", "64",
                "--output-len", "128", "--check", "0", "--seed", str(seed))
        alone.append(in_process(*MODEL, "--threads", threads, "--kv-tokens", "65536",
                                *load)["output_throughput"])
        one = running("--threads", threads)
        try:
            with_http.append(bench(one, "--endpoint", "completions", *load)["output_throughput"])
        finally:
            one.stop()
    # What neighbours take from one of a pair they mostly take from the other.
    share = 1 - statistics.median(http / engine for http, engine in zip(with_http, alone))
    figure("overhead_at_32_streams", share, 0.03, tokens_per_second=statistics.median(with_http),
           in_process=statistics.median(alone), threads=threads)


def overload(rounds=5, seconds=12):
    """Ten times what the machine can do beside what it can do, in turn; then nothing."""
    shape = ("--input-len", "32", "--output-len", "48", "--check", "0", "--endpoint", "completions",
             "--goodput", "ttft:1000")
    one = running("--threads", apart(), "--max-ttft-ms", "800")
    try:
        seeds = map(str, itertools.count(1))  # a seed for each run: none finds another's prompts
        # The first requests say how many are a few seconds' work, and how many ten times as many.
        rate = bench(one, "--requests", "256", "--concurrency", "16", "--seed", next(seeds),
                     *shape)["request_throughput"]
        before, floods, closed = one.resident_bytes(), [], {8: [], 16: [], 32: []}
        for _ in range(rounds):
            for concurrency, runs in closed.items():
                runs.append(bench(one, "--requests", str(int(rate * seconds / 3)), "--concurrency",
                                  str(concurrency), "--seed", next(seeds), *shape))
            floods.append(bench(one, "--requests", str(int(10 * rate * seconds)), "--rate",
                                str(10 * rate), "--seed", next(seeds), *shape))

        def goodput(runs):
            return statistics.median(run["request_goodput"] for run in runs)
        # The best concurrency by its median: the best run would be the luckiest one.
        peak = max(map(goodput, closed.values()))
        figure("goodput_at_10x", goodput(floods) / peak, 0.9, at_least=True, peak=peak,
               offered=10 * rate / peak,
               runs=[round(flood["request_goodput"] / peak, 3) for flood in floods],
               rejected=sum(flood["rejected"] for flood in floods),
               failed=sum(flood["errors"] - flood["rejected"] for flood in floods))
        figure("p99_rejection_ms", max(flood["p99_rejected_ms"] for flood in floods), 20)
        figure("memory_growth_mb", (one.resident_bytes() - before) / 1e6, 64)
        begin = time.monotonic()
        while one.post(server.TEXT, {"prompt": "Once", "max_tokens": 8}).status != 200:
            pass
        figure("recovery_s", time.monotonic() - begin, 5)
    finally:
        one.stop()


def streams():
    """A thousand streams at once."""
    one = running("--connections", "2048", "--queue", "2048")
    try:
        got = bench(one, "--requests", "1000", "--concurrency", "1000", "--input-len", "16",
                    "--output-len", "32", "--endpoint", "completions",
                    "--check", "8")
        figure("errors_of_1000_streams", got["errors"] + got["mismatches"], 0)
    finally:
        one.stop()


# A list that does not end before max_tokens, with the kinds of values that schemas have.
LONG_LIST = {"type": "array", "minItems": 1000, "items": {
    "type": "object", "additionalProperties": False, "required": ["id", "name", "kind", "tags"],
    "properties": {"id": {"type": "integer"}, "name": {"type": "string", "maxLength": 24},
                   "kind": {"enum": ["first", "second", "third"]}, "note": {"type": "string"},
                   "tags": {"type": "array", "items": {"type": "string", "maxLength": 12}}}}}


def constrained(pairs=8, count=16, tokens=96):
    """Streams with a JSON schema beside as many without one, in turn."""
    one = running("--sequences", str(count))
    schema = {"type": "json_schema",
              "json_schema": {"name": "list", "strict": True, "schema": LONG_LIST}}

    def rates(seed, kind, **more):
        """Tokens a second, and tokens a second of the server's CPU time."""
        def ask(number):
            reply = one.post(server.CHAT, {
                "messages": [{"role": "user", "content": f"{kind} {seed} {number}"}],
                "seed": number, "max_tokens": tokens, "ignore_eos": True, "stream": True,
                "stream_options": {"include_usage": True}, **more})
            assert reply.status == 200, reply
            return next(event["usage"]["completion_tokens"] for event in reply.events()
                        if isinstance(event, dict) and event.get("usage"))
        begin, cpu = time.monotonic(), cpu_seconds(one)
        with concurrent.futures.ThreadPoolExecutor(count) as pool:
            got = list(pool.map(ask, range(count)))
        assert got == [tokens] * count, got
        return (count * tokens / (time.monotonic() - begin),
                count * tokens / (cpu_seconds(one) - cpu))
    try:
        kinds = {"free": {}, "bound": {"response_format": schema}}
        found = {kind: [] for kind in kinds}
        for seed in range(pairs + 1):
            for kind in list(kinds)[::1 if seed % 2 else -1]:
                found[kind].append(rates(seed, kind, **kinds[kind]))
        shares = [[b[i] / f[i] for f, b in zip(found["free"][1:], found["bound"][1:])]
                  for i in (0, 1)]  # without the first pair, in which the schema is compiled
        figure("lost_to_constraints", 1 - statistics.median(shares[0]), 0.05,
               of_cpu_time=1 - statistics.median(shares[1]),
               runs=[round(1 - share, 3) for share in shares[0]],
               tokens_per_second=statistics.median(rate for rate, _ in found["bound"][1:]))
    finally:
        one.stop()


def drain(times=100):
    """SIGTERM beside 64 streams: every stream has its end, and so has the process."""
    answered, ended_after, codes, cut, taken = [], [], set(), 0, 0
    for number in range(times):
        one = running("--drain-timeout", "2")
        wires = [server.Wire(one).send(story(i, tokens=800)) for i in range(64)]
        for wire in wires[:8]:
            wire.more()
        probe = server.Wire(one)
        begin = time.monotonic()
        one.signal(signal.SIGTERM)
        time.sleep(0.1)
        asked = time.monotonic()
        try:
            taken += probe.send(story(0)).reply().status != 503
        except server.Closed:
            pass  # the process has ended already
        answered.append(time.monotonic() - asked)
        for wire in wires:
            body = wire.ends()
            cut += not (b"[DONE]" in body or b'"error"' in body)
            wire.__exit__()
        probe.__exit__()
        codes.add(one.wait())
        ended_after.append(time.monotonic() - begin)
    figure("work_taken_100_ms_after_sigterm", taken, 0, runs=times)
    figure("drain_503_ms_p99", 1000 * percentile(answered, 0.99), 100)
    figure("drain_s_max", max(ended_after), 4, codes=sorted(codes))
    figure("streams_without_an_end", cut, 0)


def pace(one, seconds, count=32):
    """Times to the first token and between tokens of steady streams, in seconds."""
    firsts, gaps, stop = [], [], time.monotonic() + seconds

    def go_on(seed):
        while time.monotonic() < stop:
            with server.Wire(one) as wire:
                begin = time.monotonic()
                wire.send(story(seed))
                wire.until(b"data: ")
                last = time.monotonic()
                firsts.append(last - begin)
                while b"[DONE]" not in wire.got and wire.more():
                    now = time.monotonic()
                    gaps.append(now - last)
                    last = now
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        list(pool.map(go_on, range(count)))
    return percentile(firsts, 0.99), percentile(gaps, 0.99)


def idle(count=10_000):
    """Connections that say nothing, half a head, or nothing more, beside 32 streams."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (count + 2000, count + 2000))
    one = running("--connections", str(count + 100), "--idle-timeout", "10")
    base = pace(one, 5)
    before = one.resident_bytes()
    wires = []
    for i in range(count):
        wire = server.Wire(one)
        if i % 3 == 1:
            wire.send(b"GET /health HTTP/1.1\r\nHost: local")
        if i % 3 == 2:
            wire.send(server.head()).reply()
        wires.append(wire)
    figure("bytes_of_an_idle_connection", (one.resident_bytes() - before) / count, 16384)
    beside = pace(one, 5)
    figure("ttft_beside_idle", beside[0] / base[0], 2)
    figure("gap_beside_idle", beside[1] / base[1], 1.2)
    begin = time.monotonic()
    server.eventually("all are closed", lambda: one.metric("ingot:open_connections") <= 1, 90)
    figure("idle_gone_s", time.monotonic() - begin, 70)
    for wire in wires:
        wire.__exit__()
    one.stop()


def knock(address):
    """A connection that is given up at once."""
    with socket.socket() as one:
        one.setblocking(False)
        one.connect_ex(address)


def is_served(one, limit_s):
    """Whether a new connection is answered in this time."""
    with socket.socket() as wire:
        wire.settimeout(limit_s)
        try:
            wire.connect(one.address)
            wire.sendall(server.head())
            return wire.recv(12) == b"HTTP/1.1 200"
        except OSError:
            return False


def descriptors(seconds=10, rate=5000):
    """A process without descriptors while thousands of connections a second knock."""
    one = running(limits={resource.RLIMIT_NOFILE: 64})
    probe = server.Wire(one)
    probe.send(server.head()).reply()
    held = [server.Wire(one) for _ in range(64)]
    before, begin, asked, slowest = cpu_seconds(one), time.monotonic(), 0.0, 0.0
    knocks = 0
    while (now := time.monotonic() - begin) < seconds:
        for _ in range(int(now * rate) - knocks):
            knock(one.address)
            knocks += 1
        if now - asked > 0.05:
            asked = now
            probe.send(server.head()).reply()
            slowest = max(slowest, time.monotonic() - begin - now)
    share = (cpu_seconds(one) - before) / (time.monotonic() - begin)
    figure("cpu_without_descriptors", share, 0.2, knocks_per_second=knocks / seconds)
    figure("health_ms_without_descriptors", 1000 * slowest, 100)
    for wire in held:
        wire.__exit__()
    begin = time.monotonic()
    # What knocks while the system's own queue is full is dropped, and TCP waits a second.
    while not is_served(one, 0.05):
        pass
    figure("descriptors_back_s", time.monotonic() - begin, 1)
    one.stop()


def readers(count=256):
    """Unread streams beside 32 that are read, once the unread ones have all been paused."""
    one = running("--write-stall", "30", "--sequences", "512", "--connections", "2048",
                  "--kv-tokens", "400000")
    base = pace(one, 5)
    before = one.resident_bytes()
    wires = [server.Wire(one, narrow=True).send(story(i, tokens=1000)) for i in range(count)]
    server.eventually("all are paused",
                      lambda: one.metric("ingot:num_requests_paused") == count, 60)
    beside = pace(one, 8)
    figure("mb_of_a_slow_reader", (one.resident_bytes() - before) / count / 1e6, 1)
    figure("gap_beside_slow_readers", beside[1] / base[1], 1.2)
    begin = time.monotonic()
    server.eventually("all are cancelled",
                      lambda: one.metric("ingot:kv_blocks", state="referenced") == 0, 60)
    figure("slow_readers_gone_s", time.monotonic() - begin, 35)
    for wire in wires:
        wire.__exit__()
    one.stop()


def area(some, others):
    """The share of pairs in which one of `some` is the larger: 0.5 where nothing tells them
    apart."""
    return statistics.fmean((a > b) + (a == b) / 2 for a in some for b in others)


def domains(probes=2000):
    """Times of one key's prompts that another key has computed beside those of new ones: a guess at
    another key's prompts must not show in them."""
    rng = random.Random(1)
    alice, bob = ("a" * 20, "b" * 20)
    with tempfile.NamedTemporaryFile("w", suffix=".keys") as keys:  # mode 600
        keys.write(f"{alice}\n{bob}\n")
        keys.flush()
        one = running("--api-key-file", keys.name)

        def ask(key, prompt):
            begin = time.monotonic()
            reply = one.post(server.TEXT, {"prompt": prompt, "max_tokens": 1},
                             [("Authorization", f"Bearer {key}")])
            assert reply.status == 200, reply
            return time.monotonic() - begin
        try:
            times = {"known": [], "new": []}
            for _ in range(probes // 2):
                known, new = ([rng.randrange(3, 400) for _ in range(128)] for _ in range(2))
                ask(alice, known)
                for name, prompt in rng.sample([("known", known), ("new", new)], 2):
                    times[name].append(ask(bob, prompt))
            found = area(times["new"], times["known"])
            figure("told_apart_between_keys", max(found, 1 - found), 0.55, probes=probes)
            again = [(ask(alice, p), ask(alice, p))
                     for p in ([rng.randrange(3, 400) for _ in range(128)] for _ in range(200))]
            figure("told_apart_within_a_key", area(*zip(*again)), 0.9, at_least=True)
        finally:
            one.stop()


def hostile(rng):
    """Something that a server refuses."""
    return rng.choice([
        b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00", b"A" * 9000, b"PRI * HTTP/2.0\r\n\r\n",
        server.head(fields=[("Content-Length", "-1")]),
        server.head("POST", server.CHAT, [("Content-Length", "5"),
                                          ("Transfer-Encoding", "chunked")]),
        server.post(server.CHAT, b"[" * 100_000), server.post(server.CHAT, b"{"),
        server.post(server.CHAT, {"messages": []}), server.post(server.TEXT, {"prompt": [-1]}),
        server.post(server.TEXT, {"prompt": "a", "n": 1_000_000}),
        server.post(server.TEXT, {"prompt": "a" * 4_000_000}),
        server.post(server.CHAT, {"messages": [{"role": "user", "content": "a"}], "tools": [{}]})])


def laborious(rng):
    """A request as long as is handled by the thread that reads it, and as much work as fits."""
    letters = rng.choice(["a", " ", "\u0301", "\U0001f600", "aB1", "\n\t"])
    prompt = letters * (1800 // (len(json.dumps(letters, ensure_ascii=False).encode()) - 2))
    body = rng.choice([
        {"prompt": prompt},
        {"prompt": [[1]] * 16},
        {"prompt": "a", "logit_bias": {str(i): 1 for i in range(150)}},
        {"prompt": "a", "stop": [letters * 20 + str(i) for i in range(16)]},
        {"messages": [{"role": ("user", "assistant")[i % 2], "content": "a"} for i in range(49)]}])
    raw = json.dumps({"max_tokens": 1, **body}, ensure_ascii=False, separators=(",", ":")).encode()
    assert len(raw) <= 2048
    return server.post(server.CHAT if "messages" in body else server.TEXT, raw)


def mix(seconds=20):
    """Refused requests, at 50 a second, and slow requests, one after the other, while 16 streams
    run."""
    one = running()
    rng, stop = random.Random(3), threading.Event()
    alone = [one.exchange(story(i)).body for i in range(4)]

    def texts(body):
        return [c["text"] for e in server.Reply(200, [], body).events() if isinstance(e, dict)
                for c in e["choices"]]
    wanted = ["".join(texts(body)) for body in alone]

    def go_on(seed):
        bad = 0
        while not stop.is_set():
            bad += "".join(texts(one.exchange(story(seed)).body)) != wanted[seed]
        return bad

    def labour():
        rng, served = random.Random(4), 0
        while not stop.wait(0.02):
            served += one.exchange(laborious(rng)).status == 200
        return served

    def probe():
        times = []
        while not stop.wait(0.01):
            begin = time.monotonic()
            assert one.get("/health").status == 200
            times.append(time.monotonic() - begin)
        return times
    with concurrent.futures.ThreadPoolExecutor(18) as pool:
        good = [pool.submit(go_on, i % 4) for i in range(16)]
        laboured, probed = pool.submit(labour), pool.submit(probe)
        taken = 0
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            begin = time.monotonic()
            with server.Wire(one) as wire:
                wire.send(hostile(rng))
                try:
                    taken += wire.reply().status < 400
                except server.Closed:
                    pass
            time.sleep(max(0, 0.02 - (time.monotonic() - begin)))
        stop.set()
        figure("streams_that_differ", sum(g.result() for g in good), 0)
        figure("laborious_requests_served", laboured.result(), 5 * seconds, at_least=True)
        figure("health_ms_beside_hostile_p99", 1000 * percentile(probed.result(), 0.99), 100)
    figure("hostile_requests_taken", taken, 0)
    figure("engine_stall_ms", 1000 * one.metric("ingot:engine_stall_seconds_max"), 100)
    one.stop()


def soak(requests=86_400):
    """Every kind of client, one after the other, many times."""
    one = running()
    rng, lock = random.Random(11), threading.Lock()
    left, times, sizes = [requests], [], []

    def kind():
        return rng.choices(["chat", "leave", "several", "invalid", "long"], (70, 10, 7, 8, 5))[0]

    def ask(what, seed):
        if what == "invalid":
            one.exchange(server.post(server.CHAT, {"messages": [{"role": "x"}]}))
        elif what == "leave":
            with server.Wire(one) as wire:
                wire.send(story(seed)).more()
        elif what == "long":
            one.post(server.TEXT, {"prompt": f"{seed} word " * 200, "max_tokens": 2})
        else:
            one.post(server.CHAT, {"messages": [{"role": "user", "content": f"Hi {seed % 50}"}],
                                   "max_tokens": 6, "n": 2 if what == "several" else 1})

    def go_on():
        while True:
            with lock:
                if left[0] == 0:
                    return
                left[0] -= 1
                number, what = requests - left[0], kind()
                if number % 500 == 0:
                    sizes.append((number, one.resident_bytes()))
            begin = time.monotonic()
            ask(what, number)
            times.append((number, time.monotonic() - begin))
    begin = time.monotonic()
    threads = [threading.Thread(target=go_on) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.monotonic() - begin
    late = [s for s in sizes if s[0] > requests / 3]
    slope = statistics.linear_regression([n for n, _ in late], [b for _, b in late]).slope * 10_000
    figure("soak_kib_per_10000_requests", slope / 1024, 64, requests=requests, seconds=took)
    figure("soak_growth_mib", (late[-1][1] - late[0][1]) / 2**20, 8)
    part = [[t for n, t in times if d * requests / 10 < n <= (d + 1) * requests / 10]
            for d in range(10)]
    figure("soak_p99_last_to_second_decile",
           percentile(part[9], .99) / percentile(part[1], .99), 1.1)
    server.eventually("it is at rest",
                      lambda: one.metric("ingot:kv_blocks", state="referenced") == 0, 5)
    figure("soak_exit_code", one.stop(), 0)


ALL = {f.__name__: f for f in (overhead, overload, streams, constrained, drain, descriptors, idle,
                                readers, domains, mix, soak)}


def main():
    names = sys.argv[1:]
    if names[:1] == ["--model"]:
        MODEL[:] = names[1:2]
        names = names[2:]
    names = names or list(ALL)
    unknown = [name for name in names if name not in ALL]
    if unknown:
        print(f"error: {unknown[0]} is none of: {', '.join(ALL)}", file=sys.stderr)
        return 64
    for name in names:
        os.sched_setaffinity(0, CPUS)
        GENERATOR.clear()
        ALL[name]()
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
