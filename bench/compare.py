#!/usr/bin/env python3
"""Compares the speed of ingot and other engines on one GGUF file, alternating between them.

usage: compare.py MODEL.gguf [--prefill 512] [--decode 64] [--depth 0] [--reps 5] [--threads 2]
[--engines ingot llama_cpp ik_llama openvino] [--kv-type f16]
       compare.py MODEL.gguf --requests 24 [--concurrency 8] [--prefill 256] [--decode 48] ...
[--engines ingot llama_server openvino] [--llama-server PROGRAM] [--ingot-options ...]

The other engines are the Python packages llama-cpp-python (pip compiles it for some ten minutes),
ik-llama-cpp-python and openvino-genai, if they can be imported. Each repetition measures every
engine once, each in its own process, which ends before the next begins. The script prints medians
and their ratios to the first engine. It names an engine that is missing or refuses the file, and
drops all its results. A file without tokenizer (ingot synth) gets a made-up one in a temporary
copy, because OpenVINO requires one. vLLM is left out: it reads GGUF on GPUs only.

With --requests N, N requests are served; the next one begins when one ends. Figures are output
tokens per second and the median time to the first token: for ingot by `bench serve-inproc`; for
OpenVINO by its continuous batching, which chooses the type of keys and values itself (8 bits); for
llama.cpp's server, with one slot per concurrent request, by `ingot bench serve`. The source of
llama-cpp-python has that server: `cmake -B build -DCMAKE_BUILD_TYPE=Release vendor/llama.cpp`,
`cmake --build build --target llama-server`.
"""

import argparse
import json
import multiprocessing
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

import vocabulary


def bench_of_ingot(args, *options):
    """What `ingot bench` says of the model, with options of either kind of bench."""
    command = [args.ingot, "bench", *options, "--json", "--kv-type", args.kv_type]
    done = subprocess.run(
        [*command, "--threads", str(args.threads), "--log-level", "error"],
        capture_output=True, text=True
    )
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return json.loads(done.stdout)


def of_ingot(args):
    """{"prefill", "decode"} in tokens a second."""

    def speed(kind, *options):
        got = bench_of_ingot(args, args.model, "--reps", "1", *options)
        (row,) = [row for row in got["rows"] if row["kind"] == kind]
        return row["tok_s"]

    # Apart, since only the decode begins at the depth.
    return {
        "prefill": speed("prefill", "--prefill", str(args.prefill), "--decode", "0"),
        "decode": speed(
            "decode", "--prefill", "0", "--decode", str(args.decode), "--depth", str(args.depth)
        ),
    }


def of_llama_cpp(args):
    import llama_cpp

    context = args.prefill + args.depth + args.decode + 64
    types = {"f16": llama_cpp.GGML_TYPE_F16, "f32": llama_cpp.GGML_TYPE_F32}
    types |= {"bf16": llama_cpp.GGML_TYPE_BF16, "int8": llama_cpp.GGML_TYPE_Q8_0}
    llama = llama_cpp.Llama(
        args.model,
        n_ctx=context,
        n_batch=512,
        n_threads=args.threads,
        n_threads_batch=args.threads,
        type_k=types[args.kv_type],
        type_v=types[args.kv_type],
        flash_attn=args.kv_type == "int8",
        verbose=False,
    )

    def seconds(tokens, at_once):
        start = time.perf_counter()
        for i in range(0, len(tokens), at_once):
            llama.eval(tokens[i : i + at_once])
        return time.perf_counter() - start

    llama.eval(tokens_of(8))  # what is set up once
    llama.reset()
    prefill = args.prefill / seconds(tokens_of(args.prefill), 512)
    llama.reset()
    if args.depth:
        llama.eval(tokens_of(args.depth))
    return {"prefill": prefill, "decode": args.decode / seconds(tokens_of(args.decode), 1)}


def of_ik_llama(args):
    import ik_llama_cpp
    from ik_llama_cpp import _ctypes_api as api
    from ik_llama_cpp._internals import make_batch_range

    if args.kv_type != "f16":
        raise RuntimeError("ik-llama-cpp-python has only the type f16 of keys and values")
    llama = ik_llama_cpp.IkLlama(args.model, n_ctx=args.prefill + args.depth + args.decode + 64,
                                 n_threads=args.threads, verbose=False)
    context = llama._context  # its public functions also tokenise and sample

    def seconds(tokens, first, at_once):
        start = time.perf_counter()
        for i in range(0, len(tokens), at_once):
            batch = make_batch_range(tokens[i : i + at_once], pos_start=first + i)
            if context.decode(batch) != 0:
                raise RuntimeError("llama_decode failed")
            api.llama_batch_free(batch)
        return time.perf_counter() - start

    seconds(tokens_of(8), 0, 8)  # what is set up once
    context.kv_cache_clear()
    prefill = args.prefill / seconds(tokens_of(args.prefill), 0, 512)
    context.kv_cache_clear()
    if args.depth:
        seconds(tokens_of(args.depth), 0, 512)
    return {"prefill": prefill,
            "decode": args.decode / seconds(tokens_of(args.decode), args.depth, 1)}


def of_openvino(args):
    import numpy
    import openvino
    import openvino_genai

    pipeline = openvino_genai.LLMPipeline(
        args.model, "CPU", INFERENCE_NUM_THREADS=args.threads, ENABLE_MMAP=True
    )

    def generate(count, new):
        ids = openvino.Tensor(numpy.array([tokens_of(count)], dtype=numpy.int64))
        mask = openvino.Tensor(numpy.ones((1, count), dtype=numpy.int64))
        inputs = openvino_genai.TokenizedInputs(ids, mask)
        return pipeline.generate(inputs, max_new_tokens=new, ignore_eos=True).perf_metrics

    generate(8, 2)
    first = generate(args.prefill, 1).get_ttft().mean / 1e3
    each = generate(max(1, args.depth), args.decode).get_tpot().mean / 1e3
    return {"prefill": args.prefill / first, "decode": 1 / each}


def load_of_ingot(args):
    """{"output", "first"}: tokens a second, and milliseconds to the median first token."""
    got = bench_of_ingot(
        args, "serve-inproc", args.model, "--check", "0", "--requests", str(args.requests),
        "--concurrency", str(args.concurrency), "--sequences", str(args.concurrency),
        "--input-len", str(args.prefill), "--output-len", str(args.decode), *args.ingot_options
    )
    return {"output": got["output_throughput"], "first": got["median_ttft_ms"]}


def load_of_openvino(args):
    import numpy
    import openvino
    import openvino_genai

    scheduler = openvino_genai.SchedulerConfig()
    scheduler.max_num_seqs = args.concurrency
    scheduler.cache_size = 1 + args.concurrency * (args.prefill + args.decode) // 4096  # GB
    scheduler.enable_prefix_caching = False
    pipeline = openvino_genai.ContinuousBatchingPipeline(
        args.model, scheduler, "CPU", {"INFERENCE_NUM_THREADS": args.threads}
    )
    config = openvino_genai.GenerationConfig()
    config.max_new_tokens = config.min_new_tokens = args.decode
    config.ignore_eos = True

    def serve(requests):
        running, waits, tokens = {}, [], 0
        begin = time.perf_counter()
        for number in range(requests):
            while len(running) >= args.concurrency:
                tokens += step(running, waits)
            ids = numpy.array([tokens_of(args.prefill, number)], dtype=numpy.int64)
            handle = pipeline.add_request(number, openvino.Tensor(ids), config)
            running[number] = [handle, time.perf_counter(), 0]
        while running:
            tokens += step(running, waits)
        return {"output": tokens / (time.perf_counter() - begin),
                "first": 1e3 * statistics.median(waits)}

    def step(running, waits):
        pipeline.step()
        tokens = 0
        for number, request in list(running.items()):
            handle, begin, before = request
            while handle.can_read():
                request[2] += sum(len(part.generated_ids) for part in handle.read().values())
            if before == 0 and request[2] > 0:
                waits.append(time.perf_counter() - begin)
            tokens += request[2] - before
            if handle.get_status() == openvino_genai.GenerationStatus.RUNNING:
                continue
            if request[2] < args.decode:
                raise RuntimeError(f"request {number} ended after {request[2]} tokens")
            del running[number]
        return tokens

    serve(2)
    return serve(args.requests)


def load_of_llama_server(args):
    program = shutil.which(args.llama_server)
    if program is None:
        raise RuntimeError(f"there is no program {args.llama_server}: --llama-server says where")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    room = args.concurrency * (args.prefill + args.decode + 16)
    types = {"int8": "q8_0"}
    kv_type = types.get(args.kv_type, args.kv_type)
    server = subprocess.Popen(
        [program, "--model", args.model, "--port", port, "--threads", str(args.threads),
         "--parallel", str(args.concurrency), "--ctx-size", str(room), "--cache-type-k", kv_type,
         "--cache-type-v", kv_type],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    url = f"http://127.0.0.1:{port}"
    try:
        given_up = time.monotonic() + 300
        while not is_up(url):
            if server.poll() is not None or time.monotonic() > given_up:
                raise RuntimeError(f"does not serve (exit code {server.poll()})")
            time.sleep(0.1)
        return asked(args, url)
    finally:
        server.terminate()
        server.wait()


def is_up(url):
    try:
        with urllib.request.urlopen(url + "/health", timeout=5):
            return True
    except OSError:
        return False


def asked(args, url):
    """What a server gives, which has to complete all requests in full."""

    def run(requests, seed):
        done = subprocess.run(
            [args.ingot, "bench", "serve", url, "--json", "--endpoint", "completions",
             "--requests", str(requests), "--concurrency", str(args.concurrency),
             "--input-len", str(args.prefill), "--output-len", str(args.decode),
             "--prompt-ids", "100:1599", "--seed", str(seed), "--timeout", "3600"],
            stdout=subprocess.PIPE, text=True
        )
        got = json.loads(done.stdout)
        if got["errors"] or got["total_output_tokens"] != requests * args.decode:
            raise RuntimeError(f"{got['errors']} errors, {got['total_output_tokens']} tokens")
        return got

    run(1, 1)
    got = run(args.requests, 2)
    if got["reconnects"]:
        print(f"llama_server: {got['reconnects']} requests were sent again", flush=True)
    return {"output": got["output_throughput"], "first": got["median_ttft_ms"]}


ENGINES = {
    "ingot": of_ingot,
    "llama_cpp": of_llama_cpp,
    "ik_llama": of_ik_llama,
    "openvino": of_openvino,
}
LOADS = {"ingot": load_of_ingot, "llama_server": load_of_llama_server, "openvino": load_of_openvino}


def tokens_of(count, of_prompt=0):
    return [100 + (i * 7919 + of_prompt * 104729) % 1500 for i in range(count)]


def _measure(engine, args, pipe):
    # What libraries print is not ours to show.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    os.dup2(2, 1)
    try:
        pipe.send(engine(*args))
    except ImportError as error:
        pipe.send(f"is not installed ({error.name})")
    except Exception as error:  # whatever another engine throws
        pipe.send(f"failed: {type(error).__name__}: {error}")


def measure(engine, *args):
    """What engine(*args) gives in a process of its own, or why it gives nothing."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=_measure, args=(engine, args, there), daemon=True
    )
    process.start()
    there.close()
    try:
        return here.recv()
    except EOFError:
        return "ended without a result"
    finally:
        process.join()


def measure_all(engines, reps, *args, before_each=lambda: None):
    """Engine's name -> its results, without engines that gave none. `engines`: functions by name.
    Calls `before_each` before each repetition."""
    found = {name: [] for name in engines}
    for _ in range(reps):
        before_each()
        for name in list(found):
            result = measure(engines[name], *args)
            if isinstance(result, str):
                print(f"{name}: {result}", file=sys.stderr)
                del found[name]
            else:
                found[name].append(result)
    return found


def print_table(args, found):
    titles = {"prefill": f"prefill of {args.prefill}, tok/s",
              "decode": f"decode at {args.depth}, tok/s",
              "output": "output, tok/s", "first": "median time to the first token, ms"}
    names = list(next(iter(found.values()))[0])
    print(f"| engine | {' | '.join(titles[name] for name in names)} | "
          f"ratio to {next(iter(found))} |\n|---|---|---|---|")
    medians = {
        engine: [statistics.median(r[name] for r in results) for name in names]
        for engine, results in found.items()
    }
    base = next(iter(medians.values()))
    for engine, (one, two) in medians.items():
        print(f"| {engine} | {one:.1f} | {two:.1f} | {one / base[0]:.2f} / {two / base[1]:.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--ingot", default="build/release/ingot")
    parser.add_argument("--prefill", type=int, help="512 by default, of requests 256")
    parser.add_argument("--decode", type=int, help="64 by default, of requests 48")
    parser.add_argument("--depth", type=int, default=0)
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--kv-type", default="f16", choices=["f16", "f32", "bf16", "int8"])
    parser.add_argument("--engines", nargs="+", choices={**ENGINES, **LOADS})
    parser.add_argument("--llama-server", default="llama-server", help="of llama.cpp, built apart")
    parser.add_argument("--requests", type=int, default=0)
    parser.add_argument("--concurrency", type=int, default=8)
    parser.add_argument("--ingot-options", nargs=argparse.REMAINDER, default=[],
                        help="the rest of the line is of `ingot bench serve-inproc`")
    args = parser.parse_args()
    engines = LOADS if args.requests else ENGINES
    if args.prefill is None:
        args.prefill = 256 if args.requests else 512
    if args.decode is None:
        args.decode = 48 if args.requests else 64
    args.engines = args.engines or list(engines)
    for name in args.engines:
        if name not in engines:
            how = "with" if args.requests else "without"
            parser.error(f"{name} is not measured {how} --requests")
    if args.requests and args.depth:
        parser.error("--depth is of prefill and decode, not of --requests")
    if args.ingot_options and not args.requests:
        parser.error("--ingot-options are of --requests")
    with tempfile.TemporaryDirectory() as folder:
        try:
            if not vocabulary.has_tokenizer(args.model):
                copy = os.path.join(folder, "model.gguf")
                vocabulary.add_tokenizer(args.model, copy)
                args.model = copy
        except (OSError, ValueError) as error:
            sys.exit(f"{args.model}: {error}")
        found = measure_all({name: engines[name] for name in args.engines}, args.reps, args)
    if not found:
        sys.exit("nothing could be measured")
    print_table(args, found)


if __name__ == "__main__":
    main()
