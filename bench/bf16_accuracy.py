#!/usr/bin/env python3
"""Measures how BF16 activations and keys change log-probabilities, against float32.

usage: bf16_accuracy.py MODEL TEXT... [--ingot build/release/ingot] [--characters 2000]
                        [--windows 1]

MODEL is rounded to BF16 first, so that both sides have equal weights. Prints the mean absolute
difference of the log-probabilities of the texts' tokens, for BF16 matrices with each type of keys.
Reads as many windows of each text, evenly spread, and prints the standard error of the windows'
means.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path


def run(args, *command, text=None):
    done = subprocess.run([args.ingot, *map(str, command)], capture_output=True, text=True,
                          input=text)
    if done.returncode != 0:
        sys.exit(f"ingot {' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout


def logprobs(args, model, text, *options):
    """The log-probability of each token of the text except the first."""
    line = json.dumps({"prompt": text, "prompt_logprobs": 0, "max_tokens": 0})
    out = json.loads(run(args, "run", model, "--jsonl", *options, text=line))
    entries = out["prompt_logprobs"]
    return [e["logprob"] for e in entries if e is not None and e.get("logprob") is not None]


def windows_of(args):
    """Parts of the texts: the same number of each, from its start on."""
    for path in args.texts:
        text = path.read_text(encoding="utf-8")
        for i in range(args.windows):
            start = len(text) * i // args.windows
            yield text[start : start + args.characters]


def summary(gaps):
    """The mean of all tokens' gaps, and the standard error of the windows' means."""
    mean = statistics.fmean(gap for window in gaps for gap in window)
    if len(gaps) == 1:
        return f"{mean:.5f}"
    error = statistics.stdev(map(statistics.fmean, gaps)) / len(gaps) ** 0.5
    return f"{mean:.5f} +- {error:.5f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("texts", type=Path, nargs="+")
    parser.add_argument("--ingot", default="build/release/ingot")
    parser.add_argument("--characters", type=int, default=2000)
    parser.add_argument("--windows", type=int, default=1)
    args = parser.parse_args()
    texts = list(windows_of(args))
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "bf16.gguf"
        run(args, "quantize", args.model, model, "--type", "BF16")
        exact = [logprobs(args, model, text, "--weights", "f32", "--kv-type", "f32")
                 for text in texts]
        tokens = sum(map(len, exact))
        for weights in ("stored", "f32"):
            for kv_type in ("f32", "f16", "bf16"):
                got = [logprobs(args, model, text, "--weights", weights, "--kv-type", kv_type)
                       for text in texts]
                gaps = [[abs(a - b) for a, b in zip(one, other, strict=True)]
                        for one, other in zip(got, exact, strict=True)]
                name = "bf16" if weights == "stored" else weights
                print(f"matrices {name:5} keys {kv_type:5} {tokens} tokens  {summary(gaps)}")


if __name__ == "__main__":
    main()
