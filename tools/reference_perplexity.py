#!/usr/bin/env python3
"""Computes the perplexity of a text under a small llama model, in double precision.

usage: reference_perplexity.py MODEL.gguf --file TEXT --ctx N [--stride S]

An independent reference for `ingot perplexity`: it shares no code with ingot, reads GGUF files of
F32 weights and tokenizes the text itself, and prints JSON with the same members. It is plain Python
and takes a few milliseconds per token and 100,000 weights, so it is for very small models.

The model is that of Touvron et al., "LLaMA: Open and Efficient Foundation Language Models"
(arXiv:2302.13971) with grouped-query attention (arXiv:2305.13245): RMSNorm (arXiv:1910.07467),
rotary embeddings (arXiv:2104.09864) of adjacent pairs, as GGUF files of this architecture have
them, and SwiGLU (arXiv:2002.05202). The tokenizer is SentencePiece's BPE with byte fallback: it
first merges the pair that makes the piece of the highest score, the leftmost one if scores are
equal. Source of the format: ggml's docs/gguf.md.
"""
import argparse
import json
import math
import struct
import sys
from operator import mul

SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q",
           12: "d"}
STRING, ARRAY, F32 = 8, 9, 0
SPACE = "\u2581"  # SentencePiece writes a space as a lower one eighth block


class Gguf:
    """Metadata and F32 tensors of a GGUF file, version 3."""

    def __init__(self, path):
        with open(path, "rb") as f:
            self.data = f.read()
        self.at = 0
        magic, version, tensors, pairs = self.take("4sIQQ")
        if magic != b"GGUF" or version != 3:
            sys.exit(f"{path}: no GGUF file of version 3")
        self.meta = {self.string(): self.value(self.take("I")[0]) for _ in range(pairs)}
        infos = [self.tensor_info() for _ in range(tensors)]
        alignment = self.meta.get("general.alignment", 32)
        start = (self.at + alignment - 1) // alignment * alignment
        self.tensors = {name: self.rows(start + offset, shape) for name, shape, offset in infos}

    def take(self, layout):
        values = struct.unpack_from("<" + layout, self.data, self.at)
        self.at += struct.calcsize("<" + layout)
        return values

    def string(self):
        return self.take(f"{self.take('Q')[0]}s")[0].decode()

    def value(self, kind):
        if kind == STRING:
            return self.string()
        if kind == ARRAY:
            element, count = self.take("IQ")
            return [self.value(element) for _ in range(count)]
        return self.take(SCALARS[kind])[0]

    def tensor_info(self):
        name = self.string()
        shape = self.take(f"{self.take('I')[0]}Q")
        kind, offset = self.take("IQ")
        if kind != F32:
            sys.exit(f"tensor {name} is of type {kind}, expected F32")
        return name, shape, offset

    def rows(self, start, shape):
        """A matrix as a list of rows; the innermost dimension comes first in the file."""
        columns = shape[0]
        count = math.prod(shape[1:])
        return [struct.unpack_from(f"<{columns}f", self.data, start + 4 * columns * i)
                for i in range(count)]


class Tokenizer:
    """SentencePiece BPE with byte fallback."""

    def __init__(self, meta):
        if meta["tokenizer.ggml.model"] != "llama":
            sys.exit(f"tokenizer {meta['tokenizer.ggml.model']}, expected llama")
        pieces = meta["tokenizer.ggml.tokens"]
        self.ids = {piece: i for i, piece in enumerate(pieces)}
        self.scores = meta["tokenizer.ggml.scores"]
        self.prefix = meta.get("tokenizer.ggml.add_space_prefix", True)
        self.bos = (meta["tokenizer.ggml.bos_token_id"]
                    if meta.get("tokenizer.ggml.add_bos_token", True) else None)

    def encode(self, text):
        symbols = list(((" " if self.prefix and text else "") + text).replace(" ", SPACE))
        while True:
            pairs = [(-self.scores[self.ids[a + b]], i)
                     for i, (a, b) in enumerate(zip(symbols, symbols[1:])) if a + b in self.ids]
            if not pairs:
                break
            at = min(pairs)[1]
            symbols[at:at + 2] = [symbols[at] + symbols[at + 1]]
        ids = []
        for symbol in symbols:
            if symbol in self.ids:
                ids.append(self.ids[symbol])
            else:
                ids += [self.ids[f"<0x{byte:02X}>"] for byte in symbol.encode()]
        return ids


def dot(a, b):
    return sum(map(mul, a, b))


def product(matrix, x):
    return [dot(row, x) for row in matrix]


class Model:
    """One sequence under way: keys and values of every token so far."""

    def __init__(self, gguf):
        meta = gguf.meta
        if meta["general.architecture"] != "llama":
            sys.exit(f"architecture {meta['general.architecture']}, expected llama")
        self.layers = meta["llama.block_count"]
        self.heads = meta["llama.attention.head_count"]
        self.kv_heads = meta.get("llama.attention.head_count_kv", self.heads)
        self.head_size = meta["llama.embedding_length"] // self.heads
        self.epsilon = meta["llama.attention.layer_norm_rms_epsilon"]
        self.theta = meta.get("llama.rope.freq_base", 10000.0)
        self.tensors = gguf.tensors
        self.begin()

    def begin(self):
        self.keys = [[] for _ in range(self.layers)]
        self.values = [[] for _ in range(self.layers)]

    def weight(self, name, layer=None):
        return self.tensors[(f"blk.{layer}." if layer is not None else "") + name + ".weight"]

    def norm(self, x, name, layer=None):
        scale = 1 / math.sqrt(dot(x, x) / len(x) + self.epsilon)
        return [w * v * scale for w, v in zip(self.weight(name, layer)[0], x)]

    def rotate(self, x, position):
        """Each head of `x`, its pairs (0, 1), (2, 3), ... turned by the angles of a position."""
        heads = []
        for start in range(0, len(x), self.head_size):
            head = []
            for i in range(0, self.head_size, 2):
                angle = position * self.theta ** (-i / self.head_size)
                cos, sin = math.cos(angle), math.sin(angle)
                a, b = x[start + i], x[start + i + 1]
                head += [a * cos - b * sin, a * sin + b * cos]
            heads.append(head)
        return heads

    def attend(self, h, layer):
        keys, values = self.keys[layer], self.values[layer]
        position = len(keys)
        queries = self.rotate(product(self.weight("attn_q", layer), h), position)
        keys.append(self.rotate(product(self.weight("attn_k", layer), h), position))
        v = product(self.weight("attn_v", layer), h)
        values.append([v[i:i + self.head_size] for i in range(0, len(v), self.head_size)])
        mixed = []
        for i, query in enumerate(queries):
            g = i * self.kv_heads // self.heads
            scores = [dot(query, key[g]) / math.sqrt(self.head_size) for key in keys]
            top = max(scores)
            shares = [math.exp(s - top) for s in scores]
            total = sum(shares)
            mixed += [dot(shares, column) / total for column in zip(*(v[g] for v in values))]
        return product(self.weight("attn_output", layer), mixed)

    def feed_forward(self, h, layer):
        gate = product(self.weight("ffn_gate", layer), h)
        up = product(self.weight("ffn_up", layer), h)
        inner = [g / (1 + math.exp(-g)) * u for g, u in zip(gate, up)]
        return product(self.weight("ffn_down", layer), inner)

    def step(self, token):
        """Adds a token; returns its last hidden state, normalised."""
        x = self.weight("token_embd")[token]
        for layer in range(self.layers):
            y = self.attend(self.norm(x, "attn_norm", layer), layer)
            x = [a + b for a, b in zip(x, y)]
            y = self.feed_forward(self.norm(x, "ffn_norm", layer), layer)
            x = [a + b for a, b in zip(x, y)]
        return self.norm(x, "output_norm")

    def logprob(self, hidden, token):
        """The log-probability of `token` after the row with this hidden state."""
        head = "output" if "output.weight" in self.tensors else "token_embd"
        logits = product(self.weight(head), hidden)
        top = max(logits)
        return logits[token] - top - math.log(sum(math.exp(v - top) for v in logits))


def score(model, tokens, bos, context, stride):
    """The log-probabilities that count, and how many windows they come from."""
    length = context - (bos is not None)
    stride = stride or length
    scores, windows = [], 0
    for begin in range(0, len(tokens) - length + 1, stride):
        fresh = 0 if windows == 0 else length - stride
        window = tokens[begin:begin + length]
        model.begin()
        hidden = None if bos is None else model.step(bos)
        for i, token in enumerate(window):
            if i >= fresh and hidden is not None:
                scores.append(model.logprob(hidden, token))
            if i + 1 < len(window):
                hidden = model.step(token)
        windows += 1
    return scores, windows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--file", required=True)
    parser.add_argument("--ctx", type=int, required=True)
    parser.add_argument("--stride", type=int, default=0)
    args = parser.parse_args()
    gguf = Gguf(args.model)
    tokenizer = Tokenizer(gguf.meta)
    with open(args.file, encoding="utf-8", newline="") as f:
        tokens = tokenizer.encode(f.read())
    scores, windows = score(Model(gguf), tokens, tokenizer.bos, args.ctx, args.stride)
    if not scores:
        sys.exit(f"{len(tokens)} tokens fill no window of {args.ctx}")
    mean = -math.fsum(scores) / len(scores)
    variance = math.fsum((-s - mean) ** 2 for s in scores) / max(1, len(scores) - 1)
    print(json.dumps({"perplexity": math.exp(mean),
                      "standard_error": math.exp(mean) * math.sqrt(variance / len(scores)),
                      "tokens": len(scores), "windows": windows}))


if __name__ == "__main__":
    main()
