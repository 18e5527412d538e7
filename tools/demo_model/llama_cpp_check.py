#!/usr/bin/env python3
"""Compares the shipped model's greedy answers with llama.cpp's on the same file.

usage: llama_cpp_check.py [--ingot build/release/ingot] [--model models/ingot-demo.gguf]

An optional check: needs llama-cpp-python (from PyPI; pip compiles it for some ten minutes). For the
20 prompts of tests/built_in llama.cpp must make the same token ids of the text, and the same greedy
answer of up to 64 tokens; where an answer parts from the other, the two likeliest tokens must be as
good as tied (both engines round activations to 8 bits, each in its own way). Exits 1 otherwise.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from llama_cpp import Llama

TOKENS = 64
TIE = 0.2  # nats between the two likeliest tokens


def ours(args, prompts):
    lines = [
        json.dumps({"prompt_ids": ids, "max_tokens": TOKENS, "temperature": 0, "logprobs": 2})
        for ids in prompts
    ]
    done = subprocess.run(
        [args.ingot, "run", args.model, "--jsonl"],
        input="\n".join(lines) + "\n",
        text=True,
        capture_output=True,
    )
    if done.returncode != 0:
        sys.exit(f"ingot run: exit {done.returncode}\n{done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def text_of(args, ids):
    command = [args.ingot, "tokenize", args.model, "--ids", ",".join(map(str, ids))]
    done = subprocess.run(command, text=True, capture_output=True, check=True)
    return done.stdout.removesuffix("\n")


def theirs(llama, ids):
    said = []
    ends = llama.tokenize(b"<|im_end|><|endoftext|>", add_bos=False, special=True)
    llama.reset()
    for token in llama.generate(ids, temp=0.0, repeat_penalty=1.0):
        if token in ends or len(said) == TOKENS:
            return said
        said.append(token)
    return said


def compare(answer, said):
    """"same", "tied" or what parts them."""
    ids = answer["ids"]
    at = next((i for i, (a, b) in enumerate(zip(ids, said)) if a != b), min(len(ids), len(said)))
    if at == len(ids) == len(said):
        return "same"
    here, there = ids[at : at + 1], said[at : at + 1]
    if here and there:
        (_, first), (second, near) = answer["logprobs"][at]["top"][:2]
        if second == said[at] and first - near < TIE:
            return "tied"
    return f"token {at}: {here or 'the end'} here, {there or 'the end'} there"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ingot", default="build/release/ingot")
    parser.add_argument("--model", default="models/ingot-demo.gguf")
    parser.add_argument("--prompts", default="tests/built_in/prompts.json")
    args = parser.parse_args()
    prompts = json.loads(Path(args.prompts).read_text())
    llama = Llama(args.model, n_ctx=1024, n_threads=2, verbose=False)
    found = []
    for ids, answer in zip(prompts, ours(args, prompts), strict=True):
        text = text_of(args, ids)
        read = llama.tokenize(text.encode(), add_bos=False, special=True)
        result = compare(answer, theirs(llama, ids))
        if read != ids:
            result = f"reads {text!r} as {read}, not {ids}"
        found.append(result)
        if result not in ("same", "tied"):
            print(f"prompt {len(found)}: {result}")
    same, tied = found.count("same"), found.count("tied")
    print(f"{len(found)} prompts: {same} answers the same, {tied} part at a tie")
    sys.exit(0 if same + tied == len(found) else 1)


if __name__ == "__main__":
    main()
