#!/usr/bin/env python3
"""Compares how often drafts are accepted with what the two models' probabilities allow.

usage: draft_acceptance.py MODEL DRAFT [--ingot build/release/ingot] [--prompt TEXT ...]

TV is the total variation distance of the models' distributions, on average over the text that
MODEL writes. Two draws agree with a probability of at most 1 - TV; at temperature 0 this is the
share of positions with equal best tokens. Each line is a limit on drafts: accepted over drafted,
tokens a step, and the speed as a multiple of that without drafts (median of 3 pairs).
"""

import argparse
import array
import json
import math
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

TOKENS = 400


def run(args, *command):
    done = subprocess.run([args.ingot, *map(str, command)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"ingot {' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout


def text(args, prompt, temperature, *draft):
    return json.loads(run(args, "run", args.model, "-p", prompt, "--max-tokens", TOKENS,
                          "--temperature", temperature, "--ignore-eos", "--json", *draft))


def rows(args, model, ids, folder):
    """The logits of each position, as lists."""
    out = Path(folder) / "logits.npy"
    run(args, "logits", model, "--tokens", ",".join(map(str, ids)), "--out", out)
    data = out.read_bytes()
    values = array.array("f", data[10 + int.from_bytes(data[8:10], "little") :])
    width = len(values) // len(ids)
    return [values[i * width : (i + 1) * width] for i in range(len(ids))]


def shares(row, temperature):
    if temperature == 0:
        best = max(range(len(row)), key=row.__getitem__)
        return [float(i == best) for i in range(len(row))]
    largest = max(row)
    weights = [math.exp((x - largest) / temperature) for x in row]
    total = sum(weights)
    return [w / total for w in weights]


def agreement(args, plain, temperature):
    """1 - TV, on average over the positions that wrote a token."""
    ids = plain["prompt_ids"] + plain["ids"]
    first = len(plain["prompt_ids"]) - 1
    with tempfile.TemporaryDirectory() as folder:
        pairs = list(zip(rows(args, args.model, ids, folder), rows(args, args.draft, ids, folder),
                         strict=True))[first:-1]
    return statistics.mean(sum(map(min, shares(p, temperature), shares(q, temperature)))
                           for p, q in pairs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("draft")
    parser.add_argument("--ingot", default="build/release/ingot")
    parser.add_argument("--prompt", action="append")
    args = parser.parse_args()
    for prompt in args.prompt or ["Once upon a time", "One day, Lily"]:
        for temperature in (0, 0.8):
            plain = text(args, prompt, temperature, "--draft", "off")
            print(f"{prompt!r}, temperature {temperature}: "
                  f"1 - TV {agreement(args, plain, temperature):.3f}")
            for limit in ("1", "2", "4", "8", "auto"):
                speeds = []
                for _ in range(3):
                    plain = text(args, prompt, temperature, "--draft", "off")
                    got = text(args, prompt, temperature, "--draft", args.draft, "--draft-tokens",
                               limit)
                    if got["digest"] != plain["digest"]:
                        sys.exit("drafts changed the text")
                    speeds.append(got["decode_tok_s"] / plain["decode_tok_s"])
                print(f"  {limit:>4}  accepted {got['accepted'] / max(1, got['drafted']):.3f}  "
                      f"tokens a step {TOKENS / (TOKENS - got['accepted']):.2f}  "
                      f"speed {statistics.median(speeds):.2f}", flush=True)


if __name__ == "__main__":
    main()
