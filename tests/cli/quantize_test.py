#!/usr/bin/env python3
"""Tests the commands quantize and imatrix: results, refusals, full disks, signals."""
import errno
import json
import math
import os
import random
import signal
import struct

import faults
import ingot
import model_files
from ingot import DONE, IO, MODEL, USAGE

TYPES = ("F32", "BF16", "F16", "Q8_0", "Q6_K", "Q5_K", "Q4_K_M", "Q4_K", "Q4_0")
CALLS_MAX = 300  # more than any of these runs makes: the loops end by themselves
TEXT = "the quick brown fox jumps over the lazy dog and runs away again, " * 40


def old_importance(entries):
    """The older layout of importance matrices: (name, values) pairs.

    Source: llama.cpp, tools/imatrix.
    """
    out = struct.pack("<i", len(entries))
    for name, values in entries:
        out += struct.pack("<i", len(name)) + name.encode()
        out += struct.pack("<ii", 1, len(values)) + struct.pack(f"<{len(values)}f", *values)
    return out


def wide_model():
    """The small model four times as wide, so that super-blocks fit its rows."""
    tiny = model_files.tiny
    model = model_files.tiny_gguf()
    rng = random.Random(3)
    for entry in model.tensors:
        entry[1] = [d if d == tiny.VOCAB else 4 * d for d in entry[1]]
        spread = 0.0 if len(entry[1]) == 1 else 0.1
        entry[3] = tiny.weights(rng, math.prod(entry[1]), spread)
    model.set("llama.embedding_length", model_files.UINT32, 4 * tiny.HIDDEN)
    model.set("llama.feed_forward_length", model_files.UINT32, 4 * tiny.FFN)
    for key in ("rope.dimension_count", "attention.key_length", "attention.value_length"):
        model.set("llama." + key, model_files.UINT32, 4 * tiny.HEAD_SIZE)
    return model


class Quantize(ingot.CliTest):
    def quantize(self, source, out, kind, *more, **how):
        return ingot.run("quantize", source, self.path(out), "--type", kind, *more, **how)

    def report(self, *args, **how):
        return self.one_json(self.assert_done(self.quantize(*args, "--json", **how)))

    def inspect(self, name):
        return self.one_json(self.assert_done(ingot.run("inspect", self.path(name), "--json")))

    def test_a_type_in_any_case(self):
        wide = self.file("case/model.gguf", wide_model().build())
        for kind, named in (("q4_k_m", "Q4_K_M"), ("bF16", "BF16")):
            self.assertEqual(self.report(wide, "case.gguf", kind)["type"], named)
        found = []
        for kind in ("iq4_nl", "IQ4_NL"):
            self.assert_done(ingot.run("synth", "tiny", self.path("synth.gguf"), "--type", kind))
            with open(self.path("synth.gguf"), "rb") as f:
                found.append(f.read())
        self.assertEqual(*found)
        found = [self.generate(None, "--weights", weights, "--kv-type", kv)["digest"]
                 for weights, kv in (("Q8_0", "BF16"), ("q8_0", "bf16"))]
        self.assertEqual(*found)

    def test_every_type_round_trips(self):
        text = self.file("wide/model.gguf", wide_model().build())
        for kind in TYPES:
            with self.subTest(kind):
                report = self.report(text, "out.gguf", kind)
                self.assertEqual(report["type"], kind)
                seen = self.inspect("out.gguf")
                before = self.one_json(self.assert_done(ingot.run("inspect", text, "--json")))
                self.assertEqual([(t["name"], t["format"], t["bytes"]) for t in seen["tensors"]],
                                 [(t["name"], t["format"], t["bytes"]) for t in report["tensors"]])
                self.assertEqual([(t["name"], t["shape"]) for t in seen["tensors"]],
                                 [(t["name"], t["shape"]) for t in before["tensors"]])
                self.assertEqual(report["bytes"], sum(t["bytes"] for t in seen["tensors"]))
                self.assertEqual(seen["metadata"]["tokenizer.ggml.tokens"],
                                 before["metadata"]["tokenizer.ggml.tokens"])
                self.generate(self.path("out.gguf"))

    def test_errors_grow_as_bits_shrink(self):
        source = self.file("wide/model.gguf", wide_model().build())
        errors = []
        for kind in ("F32", "F16", "Q8_0", "Q6_K", "Q5_K", "Q4_K", "Q4_0"):
            tensors = self.report(source, "out.gguf", kind)["tensors"]
            errors.append(next(t["error"] for t in tensors if t["name"] == "blk.0.ffn_up.weight"))
        self.assertEqual(errors[0], 0)
        self.assertEqual(errors, sorted(errors))
        self.assertLess(errors[-1], 0.2)

    def test_a_dense_copy_gives_the_same_bits(self):
        digest = self.generate(self.model)["digest"]
        self.report(self.model, "copy.gguf", "F32")
        self.assertEqual(self.generate(self.path("copy.gguf"))["digest"], digest)

    def test_rounding_while_loading_gives_the_bits_of_the_quantised_file(self):
        source = self.file("wide/model.gguf", wide_model().build())
        for kind in ("BF16", "Q8_0", "Q4_K"):
            self.report(source, "out.gguf", kind)
            option = ("--weights", kind.lower())
            self.assertEqual(self.generate(source, *option)["digest"],
                             self.generate(self.path("out.gguf"))["digest"])
            held = [self.one_json(self.assert_done(ingot.run("inspect", *args, "--json")))["plan"]
                    ["weights_bytes"] for args in ((source, *option), (self.path("out.gguf"),))]
            self.assertEqual(held[0], held[1])
        # A rounded model cannot be rounded again, so the option is refused.
        self.assert_error(ingot.run("run", self.path("out.gguf"), "--tokens", "1", *option), USAGE,
                          "--weights")
        # Rows of 64: no super-block fits.
        result = self.assert_done(ingot.run("run", self.model, "--tokens", "1", "--max-tokens",
                                            "1", *option))
        self.assertIn("do not divide into blocks of Q4_K", result.err)

    def test_widening_while_loading_gives_the_bits_of_the_widened_file(self):
        source = self.file("wide/model.gguf", wide_model().build())
        for kind in ("BF16", "F16"):
            self.report(source, "small.gguf", kind)
            self.report(self.path("small.gguf"), "wide.gguf", "F32")
            for kv in ("auto", "bf16"):
                option = ("--kv-type", kv)
                self.assertEqual(
                    self.generate(self.path("small.gguf"), "--weights", "f32", *option)["digest"],
                    self.generate(self.path("wide.gguf"), *option)["digest"])

    def test_files_that_have_the_type_already_or_cannot_get_it(self):
        for kind, name in (("BF16", "b.gguf"), ("F32", "f.gguf"), ("Q8_0", "q.gguf")):
            self.report(self.model, name, kind)
        for weights, name in (("bf16", "b.gguf"), ("f32", "f.gguf")):
            self.assertEqual(self.generate(self.path(name), "--weights", weights)["digest"],
                             self.generate(self.path(name))["digest"])
        for weights in ("bf16", "f32", "q8_0"):
            result = ingot.run("run", self.path("q.gguf"), "--tokens", "1", "--weights", weights)
            self.assert_error(result, USAGE,
                              f"can become {weights.upper()}, which takes F32, F16 or BF16; "
                              "leave --weights out")

    def test_a_weight_that_bfloat16_cannot_hold(self):
        model = model_files.tiny_gguf()
        entry = model.tensor("blk.0.ffn_up.weight")
        entry[3] = entry[3][:-4] + struct.pack("<f", 3.4e38)  # rounds to infinity
        large = self.file("large/model.gguf", model.build())
        result = ingot.run("run", large, "--tokens", "1", "--weights", "bf16")
        self.assert_model_error(result, large, "tensor blk.0.ffn_up.weight", "too large for BF16")
        self.generate(large, "--weights", "f32")

    def test_keys_and_values_follow_the_matrices_in_memory(self):
        for kind, name in (("BF16", "b.gguf"), ("F16", "h.gguf"), ("Q8_0", "q.gguf")):
            self.report(self.model, name, kind)
        for name, options, kv in (
                ("b.gguf", (), "bf16"), ("b.gguf", ("--weights", "f32"), "f16"),
                ("b.gguf", ("--kv-type", "f16"), "f16"), ("b.gguf", ("--kv-type", "AUTO"), "bf16"),
                ("h.gguf", (), "f16"), ("h.gguf", ("--weights", "bf16"), "bf16"),
                ("h.gguf", ("--weights", "bf16", "--kv-type", "int8"), "int8"),
                ("b.gguf", ("--weights", "q8_0"), "f16"), ("q.gguf", (), "f16")):
            with self.subTest(name, options=options):
                args = ("inspect", self.path(name), *options)
                plan = self.one_json(self.assert_done(ingot.run(*args, "--json")))["plan"]
                self.assertEqual(plan["kv_type"], kv)
                self.assertIn(f"{plan['kv_bytes_per_token']} a token, {kv})",
                              self.assert_done(ingot.run(*args)).out.decode())
                named = ("--kv-type", kv) if "--kv-type" not in options else ()
                self.assertEqual(self.generate(self.path(name), *options)["digest"],
                                 self.generate(self.path(name), *options, *named)["digest"])

    def test_a_split_source_becomes_one_file(self):
        model = model_files.tiny_gguf()
        for i, part in enumerate(model_files.split_gguf(model, 3)):
            self.file("split/" + model_files.part_name("m", i, 3), part.build())
        first = self.path("split/" + model_files.part_name("m", 0, 3))
        self.report(first, "one.gguf", "F32")
        metadata = self.inspect("one.gguf")["metadata"]
        self.assertFalse([key for key in metadata if key.startswith("split.")])
        self.assertEqual(self.generate(self.path("one.gguf"))["digest"],
                         self.generate(self.model)["digest"])

    def test_rows_that_do_not_divide_are_reported(self):
        # Rows of 64 and 172 or so: no super-block fits.
        result = self.assert_done(self.quantize(self.model, "out.gguf", "Q4_K", "--json"))
        self.assertIn("rows that do not divide into blocks: ", result.err)
        tensors = self.one_json(result)["tensors"]
        fallen = [t for t in tensors if "wanted" in t]
        self.assertTrue(fallen)
        for t in fallen:
            self.assertEqual(t["wanted"], "Q4_K")
            self.assertIn(t["format"], ("Q5_0", "F16"))

    def test_a_quantised_source_is_warned_of(self):
        self.report(self.model, "q8.gguf", "Q8_0")
        result = self.assert_done(self.quantize(self.path("q8.gguf"), "q4.gguf", "Q4_0"))
        self.assertIn("warning: quantised already: ", result.err)
        self.generate(self.path("q4.gguf"))

    def test_a_folder_needs_its_tokenizer_or_goes_without(self):
        folder = self.hf_folder("hf")
        result = self.quantize(folder, "hf.gguf", "F32")
        self.assert_error(result, MODEL, "tokenizer", "--no-tokenizer leaves it out")
        self.assertFalse(os.path.exists(self.path("hf.gguf")))
        self.report(folder, "hf.gguf", "F32", "--no-tokenizer")
        seen = self.inspect("hf.gguf")
        self.assertEqual(seen["architecture"], "llama")
        self.assertEqual(seen["metadata"]["tokenizer.ggml.model"], "no_vocab")
        self.assertEqual(self.generate(self.path("hf.gguf"))["ids"], self.generate(folder)["ids"])

    def test_sampling_defaults_of_a_folder_stay(self):
        folder = self.hf_folder("sampled")
        stated = {"temperature": 0.5, "top_k": 3, "top_p": 0.9, "min_p": 0.01,
                  "repetition_penalty": 1.25, "do_sample": False, "typical_p": 0.5}
        self.file("sampled/generation_config.json", json.dumps(stated).encode())
        result = self.assert_done(self.quantize(folder, "sampled.gguf", "F32", "--no-tokenizer"))
        self.assertIn('{"do_sample":false,"typical_p":0.5}', result.err)
        keys = self.inspect("sampled.gguf")["metadata"]
        self.assertEqual({k: v for k, v in keys.items() if k.startswith("general.sampling.")},
                         {"general.sampling.temp": 0.5, "general.sampling.top_k": 3,
                          "general.sampling.top_p": 0.9, "general.sampling.min_p": 0.01,
                          "general.sampling.penalty_repeat": 1.25})
        self.generate(self.path("sampled.gguf"))  # readers accept these values

    def test_text_for_people(self):
        result = self.assert_done(self.quantize(self.model, "out.gguf", "Q8_0"))
        lines = result.out.decode().splitlines()
        self.assertEqual(len(lines), len(model_files.tiny_gguf().tensors) + 1)
        self.assertRegex(lines[0], r"^[a-z0-9_.]+ +[A-Z0-9_]+ +[0-9]+ bytes +error [0-9.]+ %$")
        self.assertRegex(lines[-1], r"^[0-9]+ bytes of tensors$")

    def test_refusals(self):
        out = self.path("no.gguf")
        for args, code, says in (
                ((self.model, out), USAGE, "--type"),
                ((self.model, out, "--type", "Q4_K_L"), USAGE, "expected one of F32, BF16"),
                ((self.model, out, "--type", ""), USAGE, "--type"),
                ((self.model, self.model, "--type", "F32"), USAGE, "it is a file that this"),
                ((self.model, out, "--type", "F32", "--threads", "0"), USAGE, "--threads"),
                ((self.path("missing"), out, "--type", "F32"), MODEL, "missing"),
                ((self.model, self.path("no/where"), "--type", "F32"), IO, "cannot write"),
                ((self.model, out, "--type", "F32", "--imatrix", self.path("missing")), MODEL,
                 "missing"),
                ((self.model, out, "--type", "Q4_0", "--imatrix", self.model), MODEL,
                 "another kind of GGUF")):
            with self.subTest(args):
                self.assert_error(ingot.run("quantize", *args), code, says)
        self.assertFalse(os.path.exists(out))

    def test_an_output_among_the_inputs_is_refused(self):
        folder = self.hf_folder("own")
        shard = os.path.join(folder, "model.safetensors")
        result = self.quantize(folder, shard, "F32", "--no-tokenizer")
        self.assert_error(result, USAGE, "it is a file that this command reads")
        for i, part in enumerate(model_files.split_gguf(model_files.tiny_gguf(), 2)):
            self.file("parts/" + model_files.part_name("m", i, 2), part.build())
        first, second = (self.path("parts/" + model_files.part_name("m", i, 2)) for i in (0, 1))
        self.assert_error(self.quantize(first, second, "F32"), USAGE,
                          "it is a file that this command reads")

    def test_weights_that_are_not_finite(self):
        model = model_files.tiny_gguf()
        entry = model.tensor("blk.0.ffn_up.weight")
        entry[3] = entry[3][:-4] + model_files.NAN
        bad = self.file("nan/model.gguf", model.build())
        for kind in ("F32", "Q8_0"):
            self.assert_model_error(self.quantize(bad, "nan.gguf", kind), bad,
                                    "blk.0.ffn_up.weight", "is nan")
        self.assertFalse(os.path.exists(self.path("nan.gguf")))

    def test_a_disk_that_is_full(self):
        # The limit on a file's size takes the part of the disk.
        for kind in ("F32", "Q4_0"):
            result = self.quantize(self.model, "full.gguf", kind,
                                   limits={ingot.resource.RLIMIT_FSIZE: 8192})
            self.assert_error(result, IO, "full.gguf: cannot write: ")
        self.assertFalse([n for n in os.listdir(self.folder) if n.startswith("full.gguf")])


class Imatrix(ingot.CliTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.wide = cls.file("wide.gguf", wide_model().build())
        cls.text = cls.file("text.txt", TEXT.encode())

    def imatrix(self, out, *more, model=None, **how):
        return ingot.run("imatrix", model or self.wide, "--file", self.text, "--out",
                         self.path(out), *more, **how)

    def contents(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()

    def test_the_same_for_all_threads_and_kernels(self):
        few = ("--ctx", "16", "--windows", "2")
        self.assert_done(self.imatrix("one.gguf", "--threads", "1", *few))
        self.assert_done(self.imatrix("two.gguf", "--threads", "3", *few))
        self.assert_done(self.imatrix("isa.gguf", "--cpu-isa", "scalar", *few))
        self.assertEqual(self.contents("one.gguf"), self.contents("two.gguf"))
        self.assertEqual(self.contents("one.gguf"), self.contents("isa.gguf"))

    def test_it_lowers_the_weighted_error(self):
        self.assert_done(self.imatrix("im.gguf"))
        with_it = ingot.run("quantize", self.wide, self.path("a.gguf"), "--type", "Q4_K_M",
                            "--imatrix", self.path("im.gguf"), "--json")
        self.assertIn("no importance is known for token_embd.weight", with_it.err)
        tensors = self.one_json(self.assert_done(with_it))["tensors"]
        weighed = [t for t in tensors if "weighted_error" in t]
        self.assertGreater(len(weighed), 10)
        plain = {t["name"]: t for t in self.one_json(self.assert_done(ingot.run(
            "quantize", self.wide, self.path("b.gguf"), "--type", "Q4_K_M", "--json")))["tensors"]}
        for t in weighed:
            self.assertGreaterEqual(t["error"], plain[t["name"]]["error"] * 0.999, t)
        self.generate(self.path("a.gguf"))

    def test_an_importance_matrix_is_no_model(self):
        self.assert_done(self.imatrix("m.gguf", "--ctx", "16", "--windows", "2"))
        old = self.file("imatrix.dat", old_importance([("blk.0.attn_q.weight", [1.0] * 256)]))
        for path in (self.path("m.gguf"), old):
            for command in (("inspect", path), ("run", path, "-p", "a"),
                            ("quantize", path, self.path("o.gguf"), "--type", "Q8_0")):
                line = self.assert_model_error(ingot.run(*command), path, "importance matrix")
                self.assertIn("ingot quantize takes it with --imatrix", line)

    def test_a_pointer_is_no_matrix(self):
        path = self.file("pointer.gguf", ingot.LFS_POINTER)
        self.assert_model_error(ingot.run("quantize", self.wide, self.path("o.gguf"), "--type",
                                          "Q8_0", "--imatrix", path), path, "Git LFS pointer")

    def test_the_older_layout_is_read(self):
        values = [1.0] * 128 + [0.01] * 128
        old = self.file("old.dat", old_importance([("blk.0.attn_q.weight", values)]))
        result = ingot.run("quantize", self.wide, self.path("old.gguf"), "--type", "Q4_K",
                           "--imatrix", old, "--json")
        tensors = self.one_json(self.assert_done(result))["tensors"]
        self.assertEqual([t["name"] for t in tensors if "weighted_error" in t],
                         ["blk.0.attn_q.weight"])

    def test_damaged_matrices(self):
        self.assert_done(self.imatrix("im.gguf"))
        whole = self.contents("im.gguf")
        rng = random.Random(5)
        for _ in range(3 if ingot.SANITIZERS else 30):
            broken = bytearray(whole)
            for _ in range(rng.randrange(1, 4)):
                broken[rng.randrange(len(broken))] = rng.randrange(256)
            path = self.file("broken.gguf", bytes(broken[:rng.randrange(1, len(broken) + 1)]))
            result = ingot.run("quantize", self.wide, self.path("x.gguf"), "--type", "Q4_K",
                               "--imatrix", path)
            self.assertIn(result.code, (DONE, MODEL), result)
            if result.code == MODEL:
                self.assert_model_error(result, path)

    def test_windows_and_refusals(self):
        few = self.assert_done(self.imatrix("few.gguf", "--ctx", "16", "--windows", "2"))
        self.assertEqual(few.out, b"")
        for option in ("--ctx", "--windows"):
            self.assert_error(self.imatrix("no.gguf", option, "0"), USAGE, option)
        self.assert_error(self.imatrix("no.gguf", "--ctx", "1"), USAGE, "has to hold BOS")
        self.assert_error(ingot.run("imatrix", self.wide, "--file", self.text, "--out", self.text),
                          USAGE, "it is a file that this command reads")
        empty = self.file("empty.txt", b"")
        self.assert_error(ingot.run("imatrix", self.wide, "--file", empty, "--out",
                                    self.path("no.gguf")), USAGE, "no tokens")
        self.assert_error(ingot.run("imatrix", self.hf_folder("hf"), "--file", self.text, "--out",
                                    self.path("no.gguf")), MODEL, "tokenizer")
        self.assertFalse(os.path.exists(self.path("no.gguf")))


class Faults(faults.FaultTest):
    """K08: what cannot be written whole is not written at all."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        os.mkdir(cls.path("out"))
        cls.out = cls.path("out/m.gguf")

    def arguments(self):
        return ("quantize", self.model, self.out, "--type", "Q8_0", "--json")

    def contents(self):
        with open(self.out, "rb") as f:
            return f.read()

    def clear(self):
        for name in os.listdir(self.path("out")):
            os.unlink(os.path.join(self.path("out"), name))

    def sweep(self, error, calls, before):
        self.assert_done(ingot.run(*self.arguments()))
        good = self.contents()
        for number in range(1, CALLS_MAX):
            self.file("out/m.gguf", before)
            if before == b"":
                os.unlink(self.out)
            result = self.faulty(*self.arguments(), path=self.path("out"),
                                 fault=f"errno:{error}@{number}", calls=calls)
            with self.subTest(error=error, calls=calls, number=number):
                if not self.hits:
                    self.assertEqual(result.code, DONE, result)
                    self.assertEqual(self.contents(), good)
                    self.assertGreater(number, len(calls))
                    return
                # A folder that cannot be brought to storage is no error: the file is there.
                self.assert_clean_write(result, before, good)
        self.fail(f"the fault was still met at call {CALLS_MAX}")

    def assert_clean_write(self, result, before, good):
        if result.code == DONE:
            self.assertEqual(self.contents(), good)
            return
        self.assert_error(result, IO, "m.gguf: cannot write: ")
        self.assert_only([] if before == b"" else ["m.gguf"], self.path("out"))
        if before != b"":
            self.assertEqual(self.contents(), before)

    def test_a_full_disk_at_every_write(self):
        for before in (b"", b"what was there before"):
            self.sweep(errno.ENOSPC, ("write", "fsync"), before)

    def test_an_error_at_every_call(self):
        self.sweep(errno.EIO, ("write", "fsync", "rename"), b"before")

    def test_short_and_interrupted_writes(self):
        self.assert_done(ingot.run(*self.arguments()))
        good = self.contents()
        for fault in ("short", "eintr"):
            os.unlink(self.out)
            self.assert_done(self.faulty(*self.arguments(), path=self.path("out"), fault=fault,
                                         calls=("open", "write", "fsync")))
            self.assertIn("write", self.hits)
            self.assertEqual(self.contents(), good)

    def test_signals_leave_nothing(self):
        for sent, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            for number in (1, 2):
                self.clear()
                # As F32 the file takes several writes, and work is left after the second.
                args = ("quantize", self.model, self.out, "--type", "F32")
                with self.stopped(*args, at=number, path=self.path("out"),
                                  call="write") as (process, go_on):
                    self.assertIsNotNone(go_on, "the run had no such call")
                    process.send_signal(sent)
                    go_on()
                    result = ingot.finish(process)
                    self.assertEqual(result.code, code, result)
                self.assert_only([], self.path("out"))

    def test_a_source_that_changes_meanwhile(self):
        source = self.file("changing.gguf", model_files.tiny_gguf().build())
        args = ("quantize", source, self.out, "--type", "Q8_0")
        self.clear()
        with self.stopped(*args, at=1, path=self.path("out"), call="write") as (process, go_on):
            self.assertIsNotNone(go_on)
            with open(source, "r+b") as f:
                f.truncate(len(model_files.tiny_gguf().build()) // 2)
            go_on()
            result = ingot.finish(process)
        self.assertEqual(result.code, IO, result)
        self.assert_only([], self.path("out"))


if __name__ == "__main__":
    ingot.main()
