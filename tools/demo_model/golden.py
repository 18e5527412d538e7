#!/usr/bin/env python3
"""Writes the logits that a demo model's GGUF file should give, computed in double precision.

usage: golden.py MODEL.gguf --out tests/built_in [--seed 5]

Reads the file's weights itself and dequantises them (Q8_0: the format is that of ggml's
docs/gguf.md and quants), and runs Qwen3's forward on them in PyTorch: an independent judge of the
engine. Writes prompts.json, a list of 20 lists of token ids of held-out questions, and logits.npy
[20, 4, vocabulary] in float32: those of the last four positions.
"""

import argparse
import json
import struct
from pathlib import Path

import corpus
import numpy
import torch
from tokenizer import Tokenizer

SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q"}
SCALARS[12] = "d"
STRING, ARRAY = 8, 9
F32, Q8_0 = 0, 8
PROMPTS, LAST = 20, 4


class Gguf:
    """Metadata and tensors of a GGUF file, version 3; tensors in float64."""

    def __init__(self, path):
        self.data, self.at = Path(path).read_bytes(), 0
        _, _, tensors, pairs = self._take("4sIQQ")
        self.meta = {}
        for _ in range(pairs):
            key = self._string()
            self.meta[key] = self._value(self._take("I")[0])
        infos = [self._tensor_info() for _ in range(tensors)]
        alignment = self.meta.get("general.alignment", 32)
        start = (self.at + alignment - 1) // alignment * alignment
        self.tensors = {n: self._tensor(s, k, start + at) for n, s, k, at in infos}

    def _take(self, layout):
        values = struct.unpack_from("<" + layout, self.data, self.at)
        self.at += struct.calcsize("<" + layout)
        return values

    def _string(self):
        return self._take(f"{self._take('Q')[0]}s")[0].decode()

    def _value(self, kind):
        if kind == STRING:
            return self._string()
        if kind == ARRAY:
            element, count = self._take("IQ")
            return [self._value(element) for _ in range(count)]
        return self._take(SCALARS[kind])[0]

    def _tensor_info(self):
        name = self._string()
        shape = self._take(f"{self._take('I')[0]}Q")[::-1]
        return name, shape, *self._take("IQ")

    def _tensor(self, shape, kind, at):
        count = int(numpy.prod(shape))
        if kind == F32:
            values = numpy.frombuffer(self.data, "<f4", count, at).astype(numpy.float64)
        elif kind == Q8_0:
            block = numpy.dtype([("scale", "<f2"), ("q", "i1", 32)])
            blocks = numpy.frombuffer(self.data, block, count // 32, at)
            values = blocks["q"] * blocks["scale"].astype(numpy.float64)[:, None]
        else:
            raise SystemExit(f"a tensor is of type {kind}, expected F32 or Q8_0")
        return torch.from_numpy(values.reshape(shape))


class Judge:
    """Qwen3's forward in double precision."""

    def __init__(self, gguf):
        self.t = gguf.tensors
        get = {k.split(".", 1)[1]: v for k, v in gguf.meta.items() if k.startswith("qwen3.")}
        self.layers, self.heads = get["block_count"], get["attention.head_count"]
        self.kv_heads, self.size = get["attention.head_count_kv"], get["attention.key_length"]
        self.eps, self.theta = get["attention.layer_norm_rms_epsilon"], get["rope.freq_base"]

    def _norm(self, x, name):
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + self.eps) * self.t[name]

    def _rotate(self, x):
        half = self.size // 2
        steps = torch.arange(half, dtype=torch.float64)
        angle = torch.arange(len(x), dtype=torch.float64)[:, None, None] * self.theta ** (
            -steps / half
        )
        a, b = x[..., :half], x[..., half:]
        cos, sin = angle.cos(), angle.sin()
        return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)

    def _attention(self, x, b):
        def heads(name, n):
            return (x @ self.t[f"{b}attn_{name}.weight"].T).view(len(x), n, self.size)

        q = self._rotate(self._norm(heads("q", self.heads), f"{b}attn_q_norm.weight"))
        k = self._rotate(self._norm(heads("k", self.kv_heads), f"{b}attn_k_norm.weight"))
        v = heads("v", self.kv_heads)
        k, v = (y.repeat_interleave(self.heads // self.kv_heads, dim=1) for y in (k, v))
        scores = torch.einsum("qhd,khd->hqk", q, k) * self.size**-0.5
        future = torch.ones(len(x), len(x), dtype=torch.bool).triu(1)
        shares = scores.masked_fill(future, -torch.inf).softmax(-1)
        mix = torch.einsum("hqk,khd->qhd", shares, v).reshape(len(x), -1)
        return mix @ self.t[f"{b}attn_output.weight"].T

    def logits(self, ids):
        x = self.t["token_embd.weight"][ids]
        for layer in range(self.layers):
            b = f"blk.{layer}."
            x = x + self._attention(self._norm(x, f"{b}attn_norm.weight"), b)
            y = self._norm(x, f"{b}ffn_norm.weight")
            gate = torch.nn.functional.silu(y @ self.t[f"{b}ffn_gate.weight"].T)
            x = x + (gate * (y @ self.t[f"{b}ffn_up.weight"].T)) @ self.t[f"{b}ffn_down.weight"].T
        head = self.t.get("output.weight", self.t["token_embd.weight"])
        return self._norm(x, "output_norm.weight") @ head.T


def prompts(tokenizer, seed):
    """Token ids of conversations up to a held-out answer, of every domain."""
    chosen = []
    while len(chosen) < PROMPTS:
        for domain in sorted(corpus.SHARES):
            for document in corpus.test_documents(f"{seed} {len(chosen)}", domain, 1):
                text = "".join(piece for piece, _ in document.pieces[:-2])
                chosen.append(tokenizer.encode(text or document.text()))
    return chosen[:PROMPTS]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--tokenizer", default="build/demo_model/tokenizer.json")
    parser.add_argument("--out", default="tests/built_in")
    parser.add_argument("--seed", type=int, default=5)
    args = parser.parse_args()
    judge = Judge(Gguf(args.model))
    asked = prompts(Tokenizer.load(args.tokenizer), args.seed)
    with torch.no_grad():
        last = [judge.logits(torch.tensor(ids))[-LAST:].float().numpy() for ids in asked]
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    (out / "prompts.json").write_text(json.dumps(asked) + "\n", encoding="utf-8")
    numpy.save(out / "logits.npy", numpy.stack(last))


if __name__ == "__main__":
    main()
