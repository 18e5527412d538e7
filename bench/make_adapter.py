#!/usr/bin/env python3
"""Writes a PEFT adapter of random matrices for a decoder, to measure the speed of adapters with.

usage: bench/make_adapter.py MODEL OUT [--rank 16] [--dtype BF16|F32|F16] [--seed 0] [--ingot PATH]

The adapter has pairs for q, k, v, o, gate, up and down of each layer. MODEL is a GGUF file.
"""
import argparse
import json
import os
import random
import struct
import subprocess
import sys

BYTES = {"BF16": 2, "F16": 2, "F32": 4}


MODULES = {"attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
           "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
           "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}


def modules(model):
    """The names of all modules with the outputs and inputs of each."""
    for tensor in model["tensors"]:
        block, layer, *rest = tensor["name"].split(".")
        if block == "blk" and rest[0] in MODULES and rest[1] == "weight":
            yield f"model.layers.{layer}.{MODULES[rest[0]]}", tensor["shape"]


def number(dtype, value):
    if dtype == "BF16":
        return struct.pack("<f", value)[2:]
    return struct.pack("<e" if dtype == "F16" else "<f", value)


def matrix(draw, dtype, count):
    """Numbers drawn from 256 small ones: fast to write, and as slow to multiply as any."""
    table = [number(dtype, draw.uniform(-0.02, 0.02)) for _ in range(256)]
    return b"".join(map(table.__getitem__, draw.randbytes(count)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("out")
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--dtype", choices=BYTES, default="BF16")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--ingot", default="build/release/ingot")
    args = parser.parse_args()
    model = json.loads(subprocess.run([args.ingot, "inspect", args.model, "--json"],
                                      capture_output=True, check=True).stdout)
    draw = random.Random(args.seed)
    header, data, at = {}, [], 0
    for module, (outputs, inputs) in modules(model):
        for which, shape in (("A", [args.rank, inputs]), ("B", [outputs, args.rank])):
            data.append(matrix(draw, args.dtype, shape[0] * shape[1]))
            header[f"base_model.model.{module}.lora_{which}.weight"] = {
                "dtype": args.dtype, "shape": shape, "data_offsets": [at, at + len(data[-1])]}
            at += len(data[-1])
    os.makedirs(args.out, exist_ok=True)
    with open(os.path.join(args.out, "adapter_config.json"), "w", encoding="utf-8") as file:
        json.dump({"peft_type": "LORA", "task_type": "CAUSAL_LM", "r": args.rank,
                   "lora_alpha": args.rank, "bias": "none",
                   "target_modules": [m.split(".")[1] for m in MODULES.values()]}, file)
    text = json.dumps(header).encode()
    with open(os.path.join(args.out, "adapter_model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.writelines(data)
    print(f"{args.out}: {at:,} bytes", file=sys.stderr)


if __name__ == "__main__":
    main()
