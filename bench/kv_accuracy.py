#!/usr/bin/env python3
"""Measures how the types of cached keys and values change logits and perplexity, against F32.

usage: kv_accuracy.py [--ingot build/release/ingot] [--shared ../shared]

For every golden model it prints the largest and the root mean square difference of logits from
those with F32 keys and values, in standard deviations of the logits. Models with key biases are
measured again with biases 30 times as large, so that one scale per head loses small elements. Then
it prints the perplexity of the built-in model and of stories260K on stories.
"""

import argparse
import array
import json
import math
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

TYPES = ("f16", "bf16", "int8")
FACTOR = 30


def run(args, *command):
    done = subprocess.run([args.ingot, *map(str, command)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"ingot {' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout


def floats(path):
    """The values of a .npy file of float32."""
    data = path.read_bytes()
    return array.array("f", data[10 + int.from_bytes(data[8:10], "little") :])


def logits(args, model, prompts, kv_type, out):
    values = array.array("f")
    for prompt in prompts:
        run(args, "logits", model, "--tokens", ",".join(map(str, prompt)), "--kv-type", kv_type,
            "--log-level", "error", "--out", out)
        values.extend(floats(out))
    return values


def differences(args, model, prompts, folder):
    """{type: (largest, root mean square)} in standard deviations."""
    out = folder / "logits.npy"
    exact = logits(args, model, prompts, "f32", out)
    mean = sum(exact) / len(exact)
    spread = math.sqrt(sum((x - mean) ** 2 for x in exact) / len(exact))
    found = {}
    for kv_type in TYPES:
        gaps = [a - b for a, b in zip(logits(args, model, prompts, kv_type, out), exact)]
        largest = max(map(abs, gaps))
        found[kv_type] = (largest / spread,
                          math.sqrt(sum(g * g for g in gaps) / len(gaps)) / spread)
    return found


def with_large_key_biases(model, folder):
    """A copy of a Hugging Face folder, or None where keys have no biases."""
    copy = folder / model.name
    shutil.copytree(model, copy)
    changed = 0
    for path in copy.glob("*.safetensors"):
        data = bytearray(path.read_bytes())
        size = struct.unpack_from("<Q", data)[0]
        for name, tensor in json.loads(data[8 : 8 + size]).items():
            if not name.endswith("k_proj.bias") or tensor["dtype"] != "F32":
                continue
            first, last = (8 + size + offset for offset in tensor["data_offsets"])
            values = array.array("f", data[first:last])
            data[first:last] = array.array("f", [FACTOR * v for v in values]).tobytes()
            changed += 1
        path.write_bytes(data)
    return copy if changed else None


def perplexity(args, model, text, ctx):
    found = {}
    for kv_type in ("f32", *TYPES):
        result = run(args, "perplexity", *([model] if model else []), "--file", text, "--ctx", ctx,
                     "--kv-type", kv_type, "--log-level", "error", "--json")
        found[kv_type] = json.loads(result)["perplexity"]
    return found


def stories(args, path):
    """Stories by the built-in model itself: what both models know something of."""
    lines = "".join(json.dumps({"prompt": "Once upon a time", "seed": seed, "temperature": 1,
                                "max_tokens": 300}) + "\n" for seed in range(1, 41))
    done = subprocess.run([args.ingot, "run", "--jsonl", "--log-level", "error"], input=lines,
                          capture_output=True, text=True, check=True)
    path.write_text("\n".join("Once upon a time" + json.loads(line)["text"]
                              for line in done.stdout.splitlines()), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ingot", default="build/release/ingot")
    parser.add_argument("--shared", type=Path,
                        default=Path(os.environ.get("INGOT_SHARED") or "../shared"))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print("| model | " + " | ".join(f"{t}: largest, rms" for t in TYPES) + " |")
        print("|---" * (1 + len(TYPES)) + "|")
        for model in sorted((args.shared / "goldens/models").iterdir()):
            prompts = json.loads((model / "prompts.json").read_text())["prompts"]
            biased = with_large_key_biases(model, folder)
            large = f"{model.name}, key biases x {FACTOR}"
            for path, label in ((model, model.name), (biased, large)):
                if path is None:
                    continue
                gaps = differences(args, path, prompts, folder)
                cells = (f"{gaps[t][0]:.1e}, {gaps[t][1]:.1e}" for t in TYPES)
                print(f"| {label} | {' | '.join(cells)} |", flush=True)
        text = folder / "stories.txt"
        stories(args, text)
        print("\n| perplexity | f32 | " + " | ".join(TYPES) + " |")
        print("|---" * (2 + len(TYPES)) + "|")
        small = args.shared / "data/models/stories260K/stories260K.gguf"
        for model, label, ctx in ((None, "ingot-demo", 512), (small, small.stem, 256)):
            if model is None or model.exists():
                found = perplexity(args, model, text, ctx)
                print(f"| {label} | {' | '.join(f'{v:.5f}' for v in found.values())} |")


if __name__ == "__main__":
    main()
