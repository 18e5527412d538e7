#!/usr/bin/env python3
"""Tests make_tiny_model.py: reads its files with an independent reader."""
import math
import os
import random
import struct
import subprocess
import sys
import tempfile
import unittest

import make_tiny_model


class Reader:
    """A GGUF reader that believes nothing: it fails on whatever it does not expect."""

    SCALARS = {4: "I", 5: "i", 6: "f", 7: "?"}

    def __init__(self, content):
        self.content, self.at = content, 0
        assert content[:4] == b"GGUF"
        self.at = 4
        version, tensors, pairs = self.read("I"), self.read("Q"), self.read("Q")
        assert version == 3
        self.metadata = {}
        for _ in range(pairs):
            key = self.text()
            assert key not in self.metadata
            self.metadata[key] = self.value(self.read("I"))
        self.tensors = []
        for _ in range(tensors):
            name = self.text()
            dims = [self.read("Q") for _ in range(self.read("I"))]
            self.tensors.append((name, dims, self.read("I"), self.read("Q")))
        self.data = -(-self.at // 32) * 32

    def read(self, kind):
        size = struct.calcsize("<" + kind)
        value, = struct.unpack("<" + kind, self.content[self.at:self.at + size])
        self.at += size
        return value

    def text(self):
        size = self.read("Q")
        self.at += size
        return self.content[self.at - size:self.at].decode("utf-8")

    def value(self, kind):
        if kind == 8:
            return self.text()
        if kind == 9:
            element, count = self.read("I"), self.read("Q")
            return [self.value(element) for _ in range(count)]
        return self.read(self.SCALARS[kind])


class TinyModel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.content = make_tiny_model.model(1)
        cls.file = Reader(cls.content)

    def test_tensors_cover_the_data_exactly(self):
        content, file = self.content, self.file
        self.assertEqual(content[file.at:file.data], bytes(file.data - file.at))
        end = 0
        for name, dims, kind, offset in file.tensors:
            with self.subTest(name):
                self.assertEqual(kind, 0)
                self.assertEqual(offset % 32, 0)
                self.assertEqual(offset, -(-end // 32) * 32)
                end = offset + 4 * math.prod(dims)
        self.assertEqual(len(content), file.data + -(-end // 32) * 32)
        self.assertLess(len(content), 2 << 20)

    def test_weights_are_finite_and_have_the_meant_spread(self):
        meant = [spread for _, _, spread in make_tiny_model.tensors()]
        for (name, dims, _, offset), spread in zip(self.file.tensors, meant):
            count = math.prod(dims)
            at = self.file.data + offset
            if name == "output.weight":  # the rows of letters and pieces, which are the last ones
                at += 4 * 259 * dims[0]
                count -= 259 * dims[0]
            values = struct.unpack(f"<{count}f", self.content[at:at + 4 * count])
            mean = sum(values) / count
            deviation = math.sqrt(sum((v - mean) ** 2 for v in values) / count)
            with self.subTest(name):
                self.assertTrue(all(map(math.isfinite, values)))
                if spread == 0:
                    self.assertTrue(all(0.9 <= v <= 1.1 for v in values))
                else:
                    self.assertAlmostEqual(deviation / spread, 1, delta=0.1)

    def test_shapes_agree_with_the_metadata(self):
        meta = self.file.metadata
        shapes = {name: dims for name, dims, _, _ in self.file.tensors}
        self.assertEqual(len(shapes), len(self.file.tensors))
        hidden, ffn = meta["llama.embedding_length"], meta["llama.feed_forward_length"]
        q = meta["llama.attention.head_count"] * meta["llama.attention.key_length"]
        kv = meta["llama.attention.head_count_kv"] * meta["llama.attention.key_length"]
        vocab = len(meta["tokenizer.ggml.tokens"])
        expected = {"token_embd.weight": [hidden, vocab], "output.weight": [hidden, vocab],
                    "output_norm.weight": [hidden]}
        for layer in range(meta["llama.block_count"]):
            for name, dims in (("attn_norm", [hidden]), ("ffn_norm", [hidden]),
                               ("attn_q", [hidden, q]), ("attn_k", [hidden, kv]),
                               ("attn_v", [hidden, kv]), ("attn_output", [q, hidden]),
                               ("ffn_gate", [hidden, ffn]), ("ffn_up", [hidden, ffn]),
                               ("ffn_down", [ffn, hidden])):
                expected[f"blk.{layer}.{name}.weight"] = dims
        self.assertEqual(shapes, expected)
        self.assertEqual(meta["general.alignment"], 32)

    def test_tokenizer(self):
        meta = self.file.metadata
        tokens, scores = meta["tokenizer.ggml.tokens"], meta["tokenizer.ggml.scores"]
        types = meta["tokenizer.ggml.token_type"]
        self.assertEqual(len(scores), len(tokens))
        self.assertEqual(types, [2, 3, 3] + [6] * 256 + [1] * (len(tokens) - 259))
        self.assertEqual(tokens[3:259], ["<0x%02X>" % byte for byte in range(256)])
        self.assertEqual(len(set(tokens)), len(tokens))
        normal = set(tokens[259:])
        for text in normal:  # every piece is reachable by merging two smaller ones
            if len(text) > 1:
                self.assertTrue(any(text[:k] in normal and text[k:] in normal
                                    for k in range(1, len(text))), text)

    def test_the_seed_decides_the_bytes(self):
        random.seed(7)  # the module's own generator must not matter
        self.assertEqual(make_tiny_model.model(1), self.content)
        self.assertNotEqual(make_tiny_model.model(2), self.content)

    def test_command(self):
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "make_tiny_model.py")
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "a.gguf")
            subprocess.run([sys.executable, script, out, "--seed", "1"], check=True,
                           capture_output=True)
            with open(out, "rb") as f:
                self.assertEqual(f.read(), self.content)
            self.assertEqual(os.listdir(folder), ["a.gguf"])


if __name__ == "__main__":
    unittest.main()
