#!/usr/bin/env python3
"""Tests failed, short and interrupted reads and writes, at every system call in turn (F7).

Each run gives the right result or one line of error. It never uses a part of a model, never gives
another digest, and never leaves half an output file.
"""
import errno
import os

import faults
import ingot
import model_files
from ingot import DONE, IO, MODEL

READS = ("stat", "open", "fstat", "fstatfs", "pread", "mmap")
WRITES = ("open", "write", "fsync", "rename", "close")
CALLS_MAX = 300  # more than any of these runs makes: the loops end by themselves


class ReadFaults(faults.FaultTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.hf = cls.hf_folder("hf")
        model = model_files.tiny_gguf()
        for i, part in enumerate(model_files.split_gguf(model, 3)):
            cls.file("split/" + model_files.part_name("m", i, 3), part.build())
        cls.split = cls.path("split/" + model_files.part_name("m", 0, 3))

    def models(self):
        return (self.model, self.hf, self.split)

    def arguments(self, model):
        return ("run", model, "--tokens", "1,283,289", "--json", "--max-tokens", "8")

    def sweep(self, model, fault, calls=READS, codes=(MODEL, IO), repair=None):
        """Runs with the fault at call 1, 2, ... until the run no longer comes so far."""
        digest = self.generate(model)["digest"]
        beneath = os.path.dirname(model) if model == self.split else model
        hits = 0
        for number in range(1, CALLS_MAX):
            result = self.faulty(*self.arguments(model), fault=f"{fault}@{number}", path=beneath,
                                 calls=calls)
            hit = bool(self.hits)
            with self.subTest(model=model, fault=fault, number=number, calls=calls):
                if result.code == DONE:
                    self.assertEqual(self.one_json(self.assert_done(result))["digest"], digest)
                else:
                    self.assertTrue(hit, result)
                    self.assertIn(result.code, codes, result)
                    line = self.assert_error(result, result.code)
                    self.assertRegex(line, r"^error: [^ ].*: [a-z ]+ @[0-9]+: .")
                    self.assertIn(os.path.basename(self.folder), line)
            if repair is not None:
                repair()
            if not hit:
                self.assertEqual(result.code, DONE, result)
                return hits
            hits += 1
        self.fail(f"the fault was still met at call {CALLS_MAX}")
        return hits

    def test_short_reads(self):
        hits = []
        for model in self.models():
            digest = self.generate(model)["digest"]
            result = self.faulty(*self.arguments(model), fault="short", path="")
            self.assertEqual(self.one_json(self.assert_done(result))["digest"], digest)
            hits += self.hits
        self.assertIn("pread", hits)  # config.json; weights are mapped

    def test_interrupted_calls(self):
        for call in ("open", "fstat", "fstatfs", "pread"):
            hits = 0
            for model in self.models():
                digest = self.generate(model)["digest"]
                with self.subTest(model=model, call=call):
                    result = self.faulty(*self.arguments(model), fault="eintr",
                                         path=self.folder, calls=(call,))
                    self.assertEqual(self.one_json(self.assert_done(result))["digest"], digest)
                hits += len(self.hits)
            self.assertGreater(hits, 0, call)

    def test_an_error_at_every_call(self):
        for model in self.models():
            hits = self.sweep(model, f"errno:{errno.EIO}")
            self.assertGreaterEqual(hits, 5)

    def test_no_memory_for_a_mapping(self):
        for model in self.models():
            hits = self.sweep(model, f"errno:{errno.ENOMEM}", calls=("mmap",),
                              codes=(MODEL, ingot.DOES_NOT_FIT))
            self.assertGreaterEqual(hits, 1)

    def test_no_descriptors_left(self):
        for model in self.models():
            hits = self.sweep(model, f"errno:{errno.EMFILE}", calls=("open",))
            self.assertGreaterEqual(hits, 1)

    def test_advice_that_is_refused_changes_nothing(self):
        digest = self.generate()["digest"]
        result = self.faulty(*self.arguments(self.model), fault=f"errno:{errno.EINVAL}@1", path="",
                             calls=("madvise",))
        self.assertEqual(self.hits, ["madvise"])
        self.assertEqual(self.one_json(self.assert_done(result))["digest"], digest)

    def test_a_file_that_shrinks_at_every_call(self):
        originals = {}
        for model in self.models():
            where = os.path.dirname(model) if os.path.isfile(model) else model
            for name in os.listdir(where):
                path = os.path.join(where, name)
                if os.path.isfile(path):
                    with open(path, "rb") as f:
                        originals[path] = f.read()

        def repair():
            for path, content in originals.items():
                if os.path.getsize(path) != len(content):
                    with open(path, "wb") as f:
                        f.write(content)
        for model in self.models():
            hits = self.sweep(model, "shrink", calls=(*READS, "mapped", "madvise", "close"),
                              repair=repair)
            self.assertGreaterEqual(hits, 5)

    def test_inspect_with_an_error_at_every_call(self):
        for model in self.models():
            whole = ingot.run("inspect", model, "--json").out
            for number in range(1, CALLS_MAX):
                result = self.faulty("inspect", model, "--json", path=os.path.dirname(model),
                                     fault=f"errno:{errno.EIO}@{number}", calls=READS)
                if not self.hits:
                    break
                self.assert_clean(result, (MODEL, IO))
                if result.code == DONE:
                    # Available memory changes between two runs, the rest does not.
                    self.assertEqual(result.out[:500], whole[:500])
            self.assertGreater(number, 5)


class WriteFaults(faults.FaultTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        os.mkdir(cls.path("out"))
        cls.out = cls.path("out/logits.npy")

    def logits(self, **fault):
        args = ("logits", self.model, "--tokens", ",".join(["5"] * 200), "--out", self.out)
        return self.faulty(*args, path=self.path("out"), **fault)

    def contents(self):
        with open(self.out, "rb") as f:
            return f.read()

    def good(self):
        self.assert_done(ingot.run("logits", self.model, "--tokens", ",".join(["5"] * 200), "--out",
                                   self.out))
        return self.contents()

    def test_short_and_interrupted_writes(self):
        good = self.good()
        for fault in ("short", "eintr"):
            os.unlink(self.out)
            self.assert_done(self.logits(fault=fault, calls=("open", "write", "fsync")))
            self.assertIn("write", self.hits)
            self.assertEqual(self.contents(), good)
            self.assert_only(["logits.npy"], self.path("out"))

    def sweep(self, error, calls, before):
        """An error at every call; the target is what it was before, or whole."""
        good = self.good()
        for number in range(1, CALLS_MAX):
            if before is None:
                os.unlink(self.out)
            else:
                self.file("out/logits.npy", before)
            result = self.logits(fault=f"errno:{error}@{number}", calls=calls)
            hit = bool(self.hits)
            with self.subTest(error=error, calls=calls, number=number):
                self.assert_clean(result, (IO,))
                if result.code == DONE:
                    self.assertEqual(self.contents(), good)
                    self.assert_only(["logits.npy"], self.path("out"))
                else:
                    self.assertIn("logits.npy", result.err)
                    self.assert_only([] if before is None else ["logits.npy"], self.path("out"))
                    if before is not None:
                        self.assertEqual(self.contents(), before)
            if not hit:
                self.assertEqual(result.code, DONE, result)
                self.assertGreater(number, len(calls))  # each of the calls at least once
                return
            if not os.path.exists(self.out):
                self.file("out/logits.npy", b"")
        self.fail(f"the fault was still met at call {CALLS_MAX}")

    def test_an_error_at_every_call(self):
        for before in (None, b"what was there before"):
            self.sweep(errno.EIO, ("write", "fsync", "rename"), before)

    def test_a_full_disk(self):
        self.sweep(errno.ENOSPC, ("write", "fsync"), b"before")

    def test_a_read_only_disk(self):
        self.sweep(errno.EROFS, ("rename",), b"before")


class StdoutFaults(faults.FaultTest):
    def test_short_and_interrupted_writes_to_stdout(self):
        out = self.path("stdout.txt")
        contents = set()
        for fault in ("none", "short", "eintr"):
            with open(out, "wb") as f:
                result = self.faulty("run", self.model, "-p", "hello there", "--max-tokens", "50",
                                     fault=fault, path=out, calls=("write",), stdout=f)
            self.assert_done(result)
            self.assertEqual(bool(self.hits), fault != "none")
            with open(out, "rb") as f:
                contents.add(f.read())
        self.assertEqual(len(contents), 1)

    def test_an_error_at_every_write(self):
        out = self.path("stdout2.txt")
        args = ("run", self.model, "-p", "hello there", "--max-tokens", "20")
        with open(out, "wb") as f:
            self.assert_done(ingot.run(*args, stdout=f))
        with open(out, "rb") as f:
            whole = f.read()
        for number in range(1, CALLS_MAX):
            with open(out, "wb") as f:
                result = self.faulty(*args, fault=f"errno:{errno.ENOSPC}@{number}", path=out,
                                     calls=("write",), stdout=f)
            with open(out, "rb") as f:
                written = f.read()
            if not self.hits:
                self.assertEqual((result.code, written), (DONE, whole))
                self.assertGreater(number, 5)
                return
            self.assertEqual(result.code, IO, result)
            self.assert_clean(result, (IO,), "stdout")
            self.assertTrue(whole.startswith(written))
        self.fail(f"there are more than {CALLS_MAX} writes")


if __name__ == "__main__":
    ingot.main()
