#!/usr/bin/env python3
"""Compares the speed of ingot and other engines at embedding real sentences, alternating between
them.

usage: compare_embed.py FOLDER TEXT [--sentences 512] [--threads 2] [--reps 5]
[--engines ingot ingot_q8_0 sentence_transformers openvino_int8]

FOLDER holds a BERT with mean pooling in the form of sentence-transformers, such as
all-MiniLM-L6-v2. TEXT is a text
file; its first sentences of 5 to 60 words are embedded. Times include tokenizing, and leave out
loading and a first run. Each repetition measures every engine once, each in its own process.

- ingot, ingot_q8_0: one request to `ingot serve`, without and with --weights q8_0.
- sentence_transformers: `encode` with PyTorch, float32, batches of 32.
- openvino_int8: the model quantised by nncf (weights and activations, calibrated on the sentences),
  batches of 32 of similar length, tokenized by transformers.

The script prints the median of sentences a second, the ratio to the first engine, the float
operations of linears and attention as a share of the peak that `ingot bench --peaks` measures
before each repetition, and the least cosine between an engine's vectors and those of the first
engine.
"""

import argparse
import base64
import json
import os
import re
import statistics
import subprocess
import sys
import threading
import time
import urllib.request

import compare
import numpy

BATCH = 32


def sentences_of(path, count):
    with open(path, encoding="utf-8") as file:
        parts = re.split(r"(?<=[.!?])\s+", file.read())
    found = [" ".join(part.split()) for part in parts if 5 <= len(part.split()) <= 60]
    if len(found) < count:
        raise ValueError(f"{path} has only {len(found)} sentences of 5 to 60 words")
    return found[:count]


def timed(run):
    """(seconds, result) of the second of two runs."""
    run()
    start = time.perf_counter()
    result = run()
    return time.perf_counter() - start, result


def of_ingot(args, texts, *options):
    server = subprocess.Popen(
        [args.ingot, "serve", args.folder, "--port", "0", "--threads", str(args.threads), *options],
        stderr=subprocess.PIPE, text=True
    )
    try:
        url = None
        while url is None:
            line = server.stderr.readline()
            if not line:
                raise RuntimeError(f"ingot serve ended with {server.wait()}")
            url = (re.search(r"http://[0-9.:]+", line) or [None])[0]
        threading.Thread(target=server.stderr.read, daemon=True).start()  # it may not fill up
        body = json.dumps({"input": texts, "encoding_format": "base64"}).encode()
        request = urllib.request.Request(
            url + "/v1/embeddings", body, {"Content-Type": "application/json"}
        )

        def run():
            with urllib.request.urlopen(request) as response:
                return response.read()

        seconds, answer = timed(run)
        rows = [base64.b64decode(row["embedding"]) for row in json.loads(answer)["data"]]
        return seconds, numpy.array([numpy.frombuffer(row, "<f4") for row in rows])
    finally:
        server.terminate()
        server.wait()


def of_ingot_q8_0(args, texts):
    return of_ingot(args, texts, "--weights", "q8_0")


def of_sentence_transformers(args, texts):
    import sentence_transformers
    import torch

    torch.set_num_threads(args.threads)
    model = sentence_transformers.SentenceTransformer(args.folder, device="cpu")
    return timed(lambda: model.encode(texts, batch_size=BATCH, show_progress_bar=False))


def of_openvino_int8(args, texts):
    import nncf
    import openvino
    import torch
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(args.folder)
    names = ("input_ids", "attention_mask", "token_type_ids")

    def encoded(batch):
        return tokenizer(batch, padding=True, truncation=True, return_tensors="np")

    batches = [texts[i : i + BATCH] for i in range(0, len(texts), BATCH)]
    example = {k: torch.tensor(encoded(batches[0])[k]) for k in names}
    torch_model = transformers.AutoModel.from_pretrained(args.folder, attn_implementation="eager")
    converted = openvino.convert_model(torch_model.eval(), example_input=example)
    calibration = nncf.Dataset([{k: encoded(batch)[k] for k in names} for batch in batches[:8]])
    quantised = nncf.quantize(
        converted, calibration, model_type=nncf.ModelType.TRANSFORMER, subset_size=8
    )
    compiled = openvino.Core().compile_model(
        quantised, "CPU",
        {"INFERENCE_NUM_THREADS": args.threads, "PERFORMANCE_HINT": "LATENCY"}
    )

    def run():
        order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
        vectors = [None] * len(texts)
        for first in range(0, len(order), BATCH):
            chosen = order[first : first + BATCH]
            inputs = encoded([texts[i] for i in chosen])
            states = compiled({k: inputs[k] for k in names})[0]
            mask = inputs["attention_mask"][..., None]
            pooled = (states * mask).sum(1) / mask.sum(1)
            pooled /= numpy.linalg.norm(pooled, axis=1, keepdims=True)
            for i, row in zip(chosen, pooled):
                vectors[i] = row
        return numpy.array(vectors)

    return timed(run)


ENGINES = {"ingot": of_ingot, "ingot_q8_0": of_ingot_q8_0,
           "sentence_transformers": of_sentence_transformers, "openvino_int8": of_openvino_int8}


def peak(args):
    """The machine's float32 operations a second."""
    done = subprocess.run(
        [args.ingot, "bench", "--peaks", "--json", "--threads", str(args.threads)],
        capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)["peaks"]["f32_gflop_s"] * 1e9


def operations(args, texts):
    """The float operations of a BERT's linears and attention for the texts."""
    with open(os.path.join(args.folder, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    hidden, layers = config["hidden_size"], config["num_hidden_layers"]
    weights = layers * hidden * (4 * hidden + 2 * config["intermediate_size"])
    done = subprocess.run(
        [args.ingot, "embed", args.folder, "--jsonl", "--truncate", "--log-level", "error"],
        input="".join(json.dumps({"text": text}) + "\n" for text in texts),
        capture_output=True, text=True, check=True
    )
    lengths = [json.loads(line)["tokens"] for line in done.stdout.splitlines()]
    return sum(2 * n * weights + 4 * n * n * hidden * layers for n in lengths)


def cosines(a, b):
    lengths = numpy.linalg.norm(a, axis=1) * numpy.linalg.norm(b, axis=1)
    return (a * b).sum(1) / lengths


def print_table(args, found, peaks, texts):
    count, work, top = len(texts), operations(args, texts), statistics.median(peaks)
    print(f"{count} sentences, {work / 1e9:.1f} Gflop, peak {top / 1e9:.0f} GFLOP/s")
    print("| engine | sentences/s | ratio | share of the f32 peak | least cosine |\n"
          "|---|---|---|---|---|")
    first = next(iter(found))
    base = statistics.median(seconds for seconds, _ in found[first])
    for name, results in found.items():
        seconds = statistics.median(seconds for seconds, _ in results)
        cosine = cosines(results[0][1], found[first][0][1]).min()
        print(f"| {name} | {count / seconds:.1f} | {base / seconds:.2f} | "
              f"{work / seconds / top:.2f} | {cosine:.4f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("text")
    parser.add_argument("--ingot", default="build/release/ingot")
    parser.add_argument("--sentences", type=int, default=512)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    args = parser.parse_args()
    if args.sentences > 2048:
        parser.error("--sentences: a request to ingot has at most 2,048 inputs")
    try:
        texts = sentences_of(args.text, args.sentences)
    except (OSError, ValueError) as error:
        sys.exit(f"error: {error}")
    peaks = []
    found = compare.measure_all(
        {name: ENGINES[name] for name in args.engines}, args.reps, args, texts,
        before_each=lambda: peaks.append(peak(args))
    )
    if not found:
        sys.exit("nothing could be measured")
    print_table(args, found, peaks, texts)


if __name__ == "__main__":
    main()
