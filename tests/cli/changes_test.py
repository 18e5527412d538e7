#!/usr/bin/env python3
"""Tests model files that are cut, overwritten or replaced while they are in use (F8).

Either the change comes too late to matter, and the text is the expected one; or the run ends with
exit code 74 and the file's name. The text is never wrong. Each change is made at a chosen moment:
the run waits at a system call, or for a reader of its output.
"""
import fcntl
import os

import faults
import ingot
import model_files
from ingot import DONE, IO, MODEL

CHANGES = ("truncate", "empty", "overwrite", "scramble", "append", "disguise", "replace", "delete",
           "touch")


def change(kind, path):
    """Changes a file in one way while a process has it open."""
    size = os.path.getsize(path)
    if kind in ("truncate", "empty"):
        os.truncate(path, size // 2 if kind == "truncate" else 0)
    elif kind in ("overwrite", "scramble", "append"):
        content = model_files.tiny_gguf(seed=2).build() if kind == "overwrite" else b"\xa5" * size
        with open(path, "r+b") as f:
            if kind == "append":
                f.seek(0, os.SEEK_END)
            f.write(content)
    elif kind == "disguise":
        # Other bytes, and the times that can be set as they were.
        before = os.stat(path)
        change("overwrite", path)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    elif kind == "replace":
        with open(path + ".new", "wb") as f:
            f.write(model_files.tiny_gguf(seed=2).build())
        os.rename(path + ".new", path)
    elif kind == "delete":
        os.unlink(path)
    elif kind == "touch":
        os.utime(path, (1, 1))


class WhileLoading(faults.FaultTest):
    """The moment is a system call of the load: before and after the mapping, between tensors."""

    def check(self, make, file, kind, call, number):
        """Stops a run at a call, changes the file, and continues; False if it never came there."""
        model = make()
        args = ("run", model, "--tokens", "1,283,289", "--json", "--max-tokens", "8")
        with self.stopped(*args, at=number, path=model, call=call) as (process, go_on):
            if go_on is None:
                self.assert_done(ingot.finish(process))
                return False
            change(kind, os.path.join(model, file) if file else model)
            go_on()
            result = ingot.finish(process)
        if result.code == DONE:
            self.assertEqual(self.one_json(self.assert_done(result))["digest"], self.digest)
        else:
            # Before it is opened, or while its head is read, its contents at that time count.
            codes = (IO, MODEL) if call != "madvise" else (IO,)
            self.assertIn(result.code, codes, result)
            self.assertIn(file or os.path.basename(model), self.assert_error(result, result.code))
        return True

    def sweep(self, make, file=None):
        self.digest = self.generate(make())["digest"]
        for kind in CHANGES:
            for call, numbers in (("mmap", (1,)), ("mapped", (1,)), ("madvise", (1, 2, 4, 7))):
                for number in numbers:
                    with self.subTest(kind=kind, call=call, number=number):
                        came = self.check(make, file, kind, call, number)
                        self.assertTrue(came or number > 1, "the load had no such call")

    def test_a_gguf_file(self):
        good = model_files.tiny_gguf().build()
        self.sweep(lambda: self.file("changing.gguf", good))

    def test_a_folder(self):
        self.sweep(lambda: self.hf_folder("changing"), "model.safetensors")

    def test_a_part_of_a_split_set(self):
        parts = [part.build() for part in model_files.split_gguf(model_files.tiny_gguf(), 2)]

        def make():
            for i, part in enumerate(parts):
                self.file("split/" + model_files.part_name("m", i, 2), part)
            return self.path("split/" + model_files.part_name("m", 0, 2))
        self.digest = self.generate(make())["digest"]
        for kind in ("truncate", "overwrite", "scramble", "disguise", "replace", "delete"):
            make()
            args = ("run", self.path("split/" + model_files.part_name("m", 0, 2)), "--tokens",
                    "1,283,289", "--json", "--max-tokens", "8")
            with self.stopped(*args, at=1, path="", call="madvise") as (process, go_on):
                self.assertIsNotNone(go_on)
                change(kind, self.path("split/" + model_files.part_name("m", 1, 2)))
                go_on()
                result = ingot.finish(process)
            self.assert_clean(result, (IO,), model_files.part_name("m", 1, 2))
            if result.code == DONE:
                self.assertEqual(self.one_json(result)["digest"], self.digest)

    def test_changes_of_what_is_in_use_are_noticed(self):
        # Cut or overwritten between two tensors: this must not pass unnoticed.
        good = model_files.tiny_gguf().build()
        for kind in ("truncate", "empty", "overwrite", "scramble", "append", "disguise"):
            model = self.file("noticed.gguf", good)
            args = ("run", model, "--tokens", "1,283", "--json")
            with self.stopped(*args, at=2, path=model, call="madvise") as (process, go_on):
                change(kind, model)
                go_on()
                self.assert_error(ingot.finish(process), IO, model)

    def test_a_cut_file_leaves_no_part_of_an_output(self):
        model = self.file("cut.gguf", model_files.tiny_gguf().build())
        args = ("logits", model, "--tokens", "1,283", "--out", self.path("cut.npy"))
        with self.stopped(*args, at=2, path=model, call="madvise") as (process, go_on):
            change("empty", model)
            go_on()
            self.assert_error(ingot.finish(process), IO, model)
        self.assertFalse([n for n in os.listdir(self.folder) if n.startswith("cut.npy")])

    def test_a_replaced_file_does_not_matter(self):
        good = model_files.tiny_gguf().build()
        self.digest = self.generate(self.file("replaced.gguf", good))["digest"]
        for kind in ("replace", "delete"):
            for number in (1, 3, 6):
                model = self.file("replaced.gguf", good)
                args = ("run", model, "--tokens", "1,283,289", "--json", "--max-tokens", "8")
                with self.stopped(*args, at=number, path=model, call="madvise") as (process, go_on):
                    change(kind, model)
                    go_on()
                    found = self.one_json(self.assert_done(ingot.finish(process)))
                    self.assertEqual(found["digest"], self.digest)

    def test_a_config_that_changes_while_it_is_read(self):
        for kind in ("truncate", "scramble", "append", "replace", "delete"):
            for call in ("open", "pread", "fstat"):
                for number in (1, 2):
                    folder = self.hf_folder("config-changes")
                    config = os.path.join(folder, "config.json")
                    args = ("run", folder, "--tokens", "1,2", "--json", "--max-tokens", "2")
                    with self.stopped(*args, at=number, path=config, call=call) as (p, go_on):
                        if go_on is not None:
                            change(kind, config)
                            go_on()
                        with self.subTest(kind=kind, call=call, number=number):
                            self.assert_clean(ingot.finish(p), (MODEL, IO), "config.json")


class WhileGenerating(ingot.CliTest):
    """The moment is after the first byte of text, with more to come than a pipe holds."""

    def args(self, model):
        # The prompt comes first and nearly fills the pipe below, so that the run is held while it
        # generates: after the first byte has been read and before the rest is.
        return ("run", model, "-p", " the" * 1000, "--ctx", "1500", "--max-tokens", "200",
                "--ignore-eos", "--log-level", "error")

    def test_nothing_that_happens_to_the_file_matters(self):
        good = model_files.tiny_gguf().build()
        whole = ingot.run(*self.args(self.model)).out
        self.assertGreater(len(whole), 4096 + 64)
        for kind in CHANGES:
            with self.subTest(kind=kind):
                model = self.file("generating.gguf", good)
                process = ingot.start(*self.args(model), bufsize=0)
                self.addCleanup(ingot.stop, process)
                fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, 4096)
                first = process.stdout.read(1)
                self.assertEqual(first, whole[:1])
                self.assertIsNone(process.poll())
                change(kind, model)
                result = self.assert_done(ingot.finish(process))
                self.assertEqual(first + result.out, whole)


class Embeddings(faults.FaultTest):
    """The input of `logits --embeds`, changed while it is read."""

    def test_a_matrix_that_changes_while_it_is_read(self):
        rows = model_files.npy(3, 64)
        for kind in ("truncate", "empty", "scramble", "append", "delete", "replace"):
            for call in ("pread", "fstat"):
                for number in (1, 2):
                    path = self.file("embeds.npy", rows)
                    args = ("logits", self.model, "--embeds", path, "--out", self.path("out.npy"))
                    with self.stopped(*args, at=number, path=path, call=call) as (p, go_on):
                        if go_on is not None:
                            change(kind, path)
                            go_on()
                        with self.subTest(kind=kind, call=call, number=number):
                            self.assert_clean(ingot.finish(p), (MODEL, IO), "embeds.npy")


if __name__ == "__main__":
    ingot.main()
