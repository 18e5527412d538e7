#!/usr/bin/env python3
"""Speed of ingot beside other engines, on the same GGUF file, alternately in one run.

usage: compare.py MODEL.gguf [--prefill 512] [--decode 64] [--depth 0] [--reps 5] [--threads 2]
[--engines ingot llama_cpp openvino] [--kv-type f16]

The other engines are Python packages that are used where they can be imported: llama-cpp-python
(pip compiles it for some ten minutes) and openvino-genai. Each repetition measures every engine
once, one after the other, each in a process of its own that ends before the next begins; medians
and their ratios to the first engine are printed. An engine that is not there, or refuses the file,
is said and left out with all that it gave before. A file without tokenizer (ingot synth) gets a
made-up one in a temporary copy, since OpenVINO reads no other. vLLM is not among them: it reads
GGUF on GPUs only.
"""

import argparse
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time

import vocabulary


def of_ingot(args):
    """{"prefill", "decode"} in tokens a second."""

    def bench(kind, *options):
        command = [args.ingot, "bench", args.model, "--json", "--reps", "1"]
        command += ["--kv-type", args.kv_type, "--threads", str(args.threads)]
        done = subprocess.run(
            [*command, "--log-level", "error", *options], capture_output=True, text=True
        )
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        (row,) = [row for row in json.loads(done.stdout)["rows"] if row["kind"] == kind]
        return row["tok_s"]

    # Apart, since only the decode begins at the depth.
    return {
        "prefill": bench("prefill", "--prefill", str(args.prefill), "--decode", "0"),
        "decode": bench(
            "decode", "--prefill", "0", "--decode", str(args.decode), "--depth", str(args.depth)
        ),
    }


def of_llama_cpp(args):
    import llama_cpp

    context = args.prefill + args.depth + args.decode + 64
    types = {"f16": llama_cpp.GGML_TYPE_F16, "f32": llama_cpp.GGML_TYPE_F32}
    types["int8"] = llama_cpp.GGML_TYPE_Q8_0
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


ENGINES = {"ingot": of_ingot, "llama_cpp": of_llama_cpp, "openvino": of_openvino}


def tokens_of(count):
    return [100 + i * 7919 % 1500 for i in range(count)]


def _measure(name, args, pipe):
    # What libraries print is not ours to show.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        pipe.send(ENGINES[name](args))
    except ImportError as error:
        pipe.send(f"is not installed ({error.name})")
    except Exception as error:  # whatever another engine throws
        pipe.send(f"failed: {type(error).__name__}: {error}")


def measure(name, args):
    """What an engine gives in a process of its own, or why it gives nothing."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=_measure, args=(name, args, there), daemon=True
    )
    process.start()
    there.close()
    try:
        return here.recv()
    except EOFError:
        return "ended without a result"
    finally:
        process.join()


def measure_all(args):
    """Engine -> its results, without those that gave none."""
    found = {name: [] for name in args.engines}
    for _ in range(args.reps):
        for name in list(found):
            result = measure(name, args)
            if isinstance(result, str):
                print(f"{name}: {result}", file=sys.stderr)
                del found[name]
            else:
                found[name].append(result)
    return found


def print_table(args, found):
    print(f"| engine | prefill of {args.prefill}, tok/s | decode at {args.depth}, tok/s | "
          f"ratio to {next(iter(found))} |\n|---|---|---|---|")
    medians = {
        name: [statistics.median(r[kind] for r in results) for kind in ("prefill", "decode")]
        for name, results in found.items()
    }
    base = next(iter(medians.values()))
    for name, (prefill, decode) in medians.items():
        print(f"| {name} | {prefill:.1f} | {decode:.1f} | "
              f"{prefill / base[0]:.2f} / {decode / base[1]:.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--ingot", default="build/release/ingot")
    parser.add_argument("--prefill", type=int, default=512)
    parser.add_argument("--decode", type=int, default=64)
    parser.add_argument("--depth", type=int, default=0)
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--kv-type", default="f16", choices=["f16", "f32", "int8"])
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        try:
            if not vocabulary.has_tokenizer(args.model):
                copy = os.path.join(folder, "model.gguf")
                vocabulary.add_tokenizer(args.model, copy)
                args.model = copy
        except (OSError, ValueError) as error:
            sys.exit(f"{args.model}: {error}")
        found = measure_all(args)
    if not found:
        sys.exit("nothing could be measured")
    print_table(args, found)


if __name__ == "__main__":
    main()
