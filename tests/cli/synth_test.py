#!/usr/bin/env python3
"""Tests ingot synth: shapes, weights of every format, refusals, full disks."""
import array
import errno
import hashlib
import json
import math
import os
import re

import faults
import ingot
from ingot import IO, USAGE

FORMATS = ("F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K",
           "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS", "MXFP4")
ENCODERS = ("tiny-bert", "tiny-modernbert", "tiny-cross-encoder")
CALLS_MAX = 100  # more than one of these runs makes


class Synth(ingot.CliTest):
    def synth(self, shape, out, *more, **how):
        return ingot.run("synth", shape, self.path(out), *more, **how)

    def inspect(self, name):
        return self.one_json(self.assert_done(ingot.run("inspect", self.path(name), "--json")))

    def digest(self, name):
        with open(self.path(name), "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()

    def floats(self, name):
        """The values of a .npy file of float32."""
        with open(self.path(name), "rb") as file:
            data = file.read()
        return array.array("f", data[10 + int.from_bytes(data[8:10], "little"):])

    def test_every_format_is_written_and_runs(self):
        for kind in FORMATS:
            for shape in ("tiny", "tiny-moe"):
                with self.subTest(kind=kind, shape=shape):
                    self.assert_done(self.synth(shape, "m.gguf", "--type", kind))
                    formats = {t["name"]: t["format"] for t in self.inspect("m.gguf")["tensors"]}
                    self.assertEqual(formats["blk.1.attn_q.weight"], kind)
                    self.assertEqual(formats["blk.1.attn_norm.weight"], "F32")
                    done = self.assert_done(ingot.run(
                        "run", self.path("m.gguf"), "--tokens", "1,2,3", "--max-tokens", "8",
                        "--logprobs", "1", "--ignore-eos", "--json"))
                    self.assertEqual(len(self.one_json(done)["ids"]), 8)

    def json_lines(self, command, name, requests, *flags):
        text = "".join(json.dumps(r) + "\n" for r in requests).encode()
        process = ingot.start(command, self.path(name), "--jsonl", *flags,
                              stdin=ingot.subprocess.PIPE)
        out, err = process.communicate(text, timeout=ingot.TIMEOUT_S)
        self.assertEqual(process.returncode, 0, err)
        return [json.loads(line) for line in out.decode().splitlines()]

    def test_a_shape_of_each_kind_runs(self):
        refused = ingot.run("synth", "no-such-shape", self.path("no.gguf"))
        tiny = set(re.findall(r"\btiny[a-z0-9-]*", refused.err))
        self.assertGreater(len(tiny), 10)
        for shape in sorted(tiny):
            with self.subTest(shape=shape):
                self.assert_done(self.synth(shape, "m.gguf", "--type", "Q8_0"))
                found = self.inspect("m.gguf")
                stored = sum(t["bytes"] for t in found["tensors"])
                self.assertTrue(0.9 < found["plan"]["weights_bytes"] / stored < 1.5, found["plan"])
                if shape in ENCODERS:
                    self.run_encoder(shape)
                else:
                    self.run_decoder()

    def run_decoder(self):
        for kind in ("f16", "int8"):
            done = self.assert_done(ingot.run(
                "run", self.path("m.gguf"), "--tokens", "1,2,3", "--max-tokens", "4",
                "--ignore-eos", "--json", "--kv-type", kind))
            self.assertEqual(len(self.one_json(done)["ids"]), 4)
        rows = self.one_json(self.assert_done(ingot.run(
            "bench", self.path("m.gguf"), "--json", "--prefill", "4", "--decode", "2",
            "--reps", "1")))["rows"]
        for row in rows:
            self.assertFalse(row["mismatch"])
            self.assertGreater(row["fraction"], 0)

    def run_encoder(self, shape):
        if shape == "tiny-cross-encoder":
            # It needs texts, and the model has no tokenizer.
            self.assert_model_error(
                ingot.run("rerank", self.path("m.gguf"), "--query", "a", "--file",
                          self.file("d.txt", b"a")), self.path("m.gguf"), "tokenizer")
            return
        one, again = self.json_lines("embed", "m.gguf", [{"ids": [1, 2, 3]}, {"ids": [1, 2, 3]}])
        self.assertEqual(one, again)
        self.assertTrue(math.isclose(sum(v * v for v in one["embedding"]), 1, abs_tol=1e-5))

    def test_weights_are_neither_too_large_nor_too_small(self):
        """Each logit is a sum over 256 weights of variance 1/256 times a normed row: of the size
        of 1, whatever the format."""
        for kind in FORMATS:
            with self.subTest(kind=kind):
                self.assert_done(self.synth("tiny", "m.gguf", "--type", kind))
                self.assert_done(ingot.run("logits", self.path("m.gguf"), "--tokens", "1,2,3,4",
                                           "--out", self.path("l.npy")))
                values = self.floats("l.npy")
                self.assertEqual(len(values), 4 * 512)
                spread = math.sqrt(sum(v * v for v in values) / len(values))
                self.assertTrue(0.5 < spread < 2, spread)

    def test_the_bytes_follow_from_shape_type_layers_and_seed(self):
        digests = []
        for options in ((), ("--threads", "1"), ("--threads", "3"), ("--seed", "0"),
                        ("--seed", "1"), ("--layers", "1")):
            self.assert_done(self.synth("tiny", "m.gguf", *options))
            digests.append(self.digest("m.gguf"))
        self.assertEqual(len(set(digests[:4])), 1)
        self.assertEqual(len(set(digests)), 3)

    def test_what_is_not_there_is_refused(self):
        for args, word in ((("gpt-5",), "SHAPE"), (("tiny", "--type", "Q9"), "--type"),
                           (("tiny", "--layers", "0"), "--layers"),
                           (("tiny", "--layers", "1000000"), "--layers"),
                           (("tiny", "--seed", "-1"), "--seed")):
            with self.subTest(args=args):
                self.assert_error(self.synth(args[0], "no.gguf", *args[1:]), USAGE, word)
                self.assertFalse(os.path.exists(self.path("no.gguf")))


class FullDisk(faults.FaultTest):
    def test_a_full_disk_leaves_nothing(self):
        os.mkdir(self.path("out"))
        for call in range(1, CALLS_MAX):
            result = self.faulty("synth", "tiny", self.path("out/m.gguf"), path=self.path("out"),
                                 fault=f"errno:{errno.ENOSPC}@{call}", calls=("write",))
            if not self.hits:
                self.assert_done(result)
                self.assertGreater(call, 1)
                return
            self.assert_error(result, IO, "m.gguf: cannot write: ")
            self.assert_only([], self.path("out"))
        self.fail(f"the fault was still met at call {CALLS_MAX}")


if __name__ == "__main__":
    ingot.main()
