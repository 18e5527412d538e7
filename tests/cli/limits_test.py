#!/usr/bin/env python3
"""Tests little memory, small stacks, few threads, odd environments: ingot runs or says why not."""
import os
import resource
import subprocess
import sys
import tempfile
import unittest

import ingot
import model_files
from ingot import DOES_NOT_FIT, DONE, MODEL, SANITIZERS, USAGE, run

MIB = 1 << 20
NO_LEAK_CHECK = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}


class Limits(ingot.CliTest):
    def args(self, *more):
        return ("run", self.model, "--tokens", "1,283,289", "--json", "--max-tokens", "8", *more)

    def logits(self, *more):
        return ("logits", self.model, "--tokens", "1,283", "--out", self.path("o.npy"), *more)

    def assert_same(self, result, digest):
        self.assertEqual(self.one_json(self.assert_done(result))["digest"], digest)


@unittest.skipIf(SANITIZERS, "a sanitizer reserves more address space than any of these limits")
class AddressSpace(Limits):
    """K06: RLIMIT_AS."""

    def limited(self, mib, *args):
        return run(*args, limits={resource.RLIMIT_AS: mib * MIB})

    def floor(self):
        """The MiB that the program needs to start at all: below, the system's loader fails."""
        low, high = 1, 4096
        while low < high:
            middle = (low + high) // 2
            if self.limited(middle, "--version").code == DONE:
                high = middle
            else:
                low = middle + 1
        return low

    def sweep(self, *args, step_mib=1):
        """From the least to enough: an error that is one, until it runs, and then it runs."""
        digest = self.generate()["digest"]
        floor = self.floor()
        runs = 0
        for mib in range(floor, floor + 1000, step_mib):
            result = self.limited(mib, *args)
            with self.subTest(args=args, mib=mib):
                self.assert_clean(result, (DOES_NOT_FIT, MODEL))
                if result.code == DONE and b"digest" in result.out:
                    self.assert_same(result, digest)
            runs = runs + 1 if result.code == DONE else 0
            if runs == 8:
                return
        self.fail("1000 MiB more than the program itself are not enough")

    def test_run_with_one_thread(self):
        self.sweep(*self.args("--threads", "1"))

    def test_run_with_many_threads(self):
        self.sweep(*self.args("--threads", "8"), step_mib=13)

    def test_inspect(self):
        self.sweep("inspect", self.model)

    def test_logits(self):
        self.sweep(*self.logits("--threads", "2"))

    def test_a_model_that_is_larger_than_what_is_left(self):
        # Its largest tensor has 64 MiB.
        model = model_files.tiny_gguf()
        wide = 128 * 1024
        model.set("llama.feed_forward_length", model_files.UINT32, wide)
        for layer in (0, 1):
            for name, dims in (("gate", [64, wide]), ("up", [64, wide]), ("down", [wide, 64])):
                model.resize(f"blk.{layer}.ffn_{name}.weight", dims)
        path = self.file("wide.gguf", model.build())
        floor = self.floor()
        seen = set()
        for more in range(0, 1024, 32):
            result = self.limited(floor + more, "run", path, "--tokens", "1,2", "--print-ids",
                                  "--max-tokens", "2", "--no-pack-cache")
            with self.subTest(mib=floor + more):
                self.assert_clean(result, (DOES_NOT_FIT, MODEL))
            seen.add(result.code)
        self.assertIn(DONE, seen)
        self.assertIn(DOES_NOT_FIT, seen)

    def test_more_threads_than_there_is_room_for(self):
        result = self.limited(1024, *self.args("--threads", "1024"))
        self.assert_clean(result, (DOES_NOT_FIT,), "thread")


class MemoryLimit(Limits):
    """--memory-limit refuses with the numbers, before anything is allocated."""

    def test_too_little(self):
        for limit in ("1", "1K", "100K", "1023", "400000"):
            for args in (self.args, self.logits):
                with self.subTest(limit=limit):
                    line = self.assert_error(run(*args("--memory-limit", limit)), DOES_NOT_FIT)
                    self.assertRegex(line, r"needs [0-9]+ bytes")
                    self.assertRegex(line, r"[0-9]+ are available")
                    self.assertIn("--memory-limit", line)

    def test_a_context_that_is_too_large_names_one_that_fits(self):
        args = ("run", self.model, "-p", "a", "--print-ids", "--kv-type", "f32", "--max-tokens")
        line = self.assert_error(run(*args, "250", "--memory-limit", "1"), DOES_NOT_FIT)
        limit = str(int(line.split("needs ")[1].split()[0]) - 20000)
        line = self.assert_error(run(*args, "250", "--memory-limit", limit), DOES_NOT_FIT)
        self.assertIn("--ctx ", line)
        fitting = line.split("--ctx ")[1].split()[0]
        self.assert_done(run(*args, "250", "--memory-limit", limit, "--ctx", fitting))

    def test_the_edge(self):
        digest = self.generate()["digest"]
        line = self.assert_error(run(*self.args("--memory-limit", "1")), DOES_NOT_FIT)
        needed = int(line.split("needs ")[1].split()[0])
        self.assert_error(run(*self.args("--memory-limit", str(needed - 1))), DOES_NOT_FIT)
        self.assert_same(run(*self.args("--memory-limit", str(needed))), digest)

    def test_what_the_option_takes(self):
        digest = self.generate()["digest"]
        for limit in ("0", "64M", "64m", "1G", "1g", "65536K", "8589934592", "1048576G"):
            with self.subTest(limit=limit):
                self.assert_same(run(*self.args("--memory-limit", limit)), digest)
        for limit in ("", "K", "64x", "64MB", "1.5G", "1048577G", "-1", "1 G", "G1", "0x10"):
            with self.subTest(limit=limit):
                self.assert_error(run(*self.args(f"--memory-limit={limit}")), USAGE,
                                  "--memory-limit")

    def test_inspect_plans_and_never_refuses(self):
        result = run("inspect", self.model, "--json", "--memory-limit", "1")
        self.assertFalse(self.one_json(self.assert_done(result))["plan"]["fits"])


class Stacks(Limits):
    """K18: small stacks and few threads."""

    def test_small_stacks(self):
        digest = self.generate()["digest"]
        kib = 1024 if SANITIZERS else 256
        for threads in ("1", "2", "8"):
            for args in (self.args, self.logits):
                result = run(*args("--threads", threads), limits={resource.RLIMIT_STACK: kib << 10})
                self.assert_done(result)
                if b"digest" in result.out:
                    self.assert_same(result, digest)
        folder = self.hf_folder("hf")
        self.assert_done(run("run", folder, "--tokens", "1", "--print-ids",
                             limits={resource.RLIMIT_STACK: kib << 10}))

    def test_small_stacks_with_hostile_depth(self):
        kib = 1024 if SANITIZERS else 256
        deep = b"[" * 1_000_000
        folder = self.hf_folder("deep", config=b'{"a":' + deep)
        self.assert_error(run("inspect", folder, limits={resource.RLIMIT_STACK: kib << 10}), MODEL)
        name = self.hf_folder("deep-tensors", tensors=model_files.safetensors([], header=deep))
        self.assert_error(run("inspect", name, limits={resource.RLIMIT_STACK: kib << 10}), MODEL)

    def test_few_threads(self):
        who = {}
        if os.geteuid() == 0:
            # The limit does not apply to root: take a user without other processes.
            who = {"user": 64321, "group": 64321, "extra_groups": []}
            try:
                tried = run("--version", **who)
            except PermissionError as e:
                self.skipTest(f"needs a user other than root who may run the program: {e}")
            if tried.code != DONE:
                self.skipTest(f"needs a user other than root who may run the program: {tried}")
            limit = 1
        else:
            limit = 0
        # Looking for leaks takes a thread.
        result = run(*self.args("--threads", "4"), limits={resource.RLIMIT_NPROC: limit},
                     env=NO_LEAK_CHECK, **who)
        self.assert_error(result, result.code, "thread", "of 4")
        self.assertEqual(result.code, DOES_NOT_FIT)

    def test_few_descriptors(self):
        digest = self.generate()["digest"]
        codes = set()
        # A sanitizer's checks open pipes of their own.
        for files in range(12 if SANITIZERS else 3, 20):
            result = run(*self.args(), limits={resource.RLIMIT_NOFILE: files})
            # Fewer than the system's own loader needs end before the program begins.
            if result.code == 127 and "shared libraries" in result.err:
                continue
            with self.subTest(files=files):
                self.assert_clean(result, (MODEL,))
                if result.code == DONE:
                    self.assert_same(result, digest)
            codes.add(result.code)
        self.assertIn(DONE, codes)

    def test_small_files(self):
        limits = {resource.RLIMIT_FSIZE: 1024}
        out = self.path("small.npy")
        args = ("logits", self.model, "--tokens", "1,283", "--out", out)
        result = run(*args, limits=limits)
        self.assert_error(result, ingot.IO, "small.npy")
        self.assertFalse(os.path.exists(out))
        self.assertFalse([n for n in os.listdir(self.folder) if ".tmp" in n])


class Environments(Limits):
    """K13: nothing in the environment changes a number."""

    LOCALES = ("de_DE", "fr_FR", "hi_IN", "tr_TR")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.locales = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.locales.cleanup)
        cls.why_no_locales = cls.make_locales()

    @classmethod
    def make_locales(cls):
        """Makes LOCALES, so that the C library finds them; says why where it cannot."""
        for name in cls.LOCALES:
            path = os.path.join(cls.locales.name, f"{name}.UTF-8")
            try:
                # Exits with 1 for warnings too, so the proof is that the comma is there.
                subprocess.run(["localedef", "-i", name, "-f", "UTF-8", path],
                               capture_output=True, check=False)
            except OSError as e:
                return f"needs localedef: {e}"
        program = "import locale; locale.setlocale(locale.LC_ALL, ''); print(f'{1.5:n}')"
        shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                               check=False, env=ingot.environment(cls.in_locale("de_DE.UTF-8")))
        if shown.stdout.strip() != "1,5":
            return f"needs the sources of de_DE (Debian's package locales): {shown.stderr.strip()}"
        return ""

    @classmethod
    def in_locale(cls, name):
        # A library of libcurl's asks for a locale, and glibc leaks what it reads in LOCPATH then.
        return {"LC_ALL": name, "LOCPATH": cls.locales.name, **NO_LEAK_CHECK}

    def generate_in(self, env):
        result = run(*self.args("--temperature", "0.75", "--seed", "7"), env=env)
        return self.one_json(self.assert_done(result))

    def assert_same_numbers(self, environments):
        expected = self.generate_in({})
        for env in environments:
            with self.subTest(env=env):
                found = self.generate_in(env)
                for key in ("ids", "text", "digest", "finish_reason", "prompt_ids"):
                    self.assertEqual(found[key], expected[key])
                self.assertIsInstance(found["decode_tok_s"], float)

    def test_variables(self):
        self.assert_same_numbers((
            {"LC_ALL": "C"}, {"LC_ALL": ""}, {"LANG": "no_such"}, {"LC_ALL": "C.UTF-8"},
            {"TZ": "Pacific/Kiritimati"}, {"TZ": ":/no/such/zone"}, {"TZ": "X" * 10000},
            {"HOME": None, "PATH": None}, {"LC_ALL": "\x1b[31m", "TERM": "dumb", "COLUMNS": "-1"}))

    def test_locales(self):
        if self.why_no_locales:
            self.skipTest(self.why_no_locales)
        self.assert_same_numbers(self.in_locale(f"{name}.UTF-8") for name in self.LOCALES)
        self.assert_same_numbers([{**self.in_locale("fr_FR.UTF-8"), "LC_ALL": None,
                                   "LC_NUMERIC": "fr_FR.UTF-8"}])

    def test_locales_in_what_inspect_prints(self):
        if self.why_no_locales:
            self.skipTest(self.why_no_locales)
        contents = set()
        for name in ("C", *(f"{name}.UTF-8" for name in self.LOCALES)):
            result = run("inspect", self.model, "--json", env=self.in_locale(name))
            found = self.one_json(self.assert_done(result))
            contents.add(str(found["metadata"]))
        self.assertEqual(len(contents), 1)

    def test_a_huge_environment(self):
        env = {f"VARIABLE_{i}": "x" * 1000 for i in range(1000)}
        digest = self.generate()["digest"]
        self.assert_same(run(*self.args(), env=env), digest)

    def test_variables_with_the_names_of_options(self):
        env = {"INGOT_THREADS": "0", "INGOT_CTX": "1", "INGOT_KV_TYPE": "int8", "OMP_NUM_THREADS":
               "0", "INGOT_LOG_LEVEL": "loud", "SPDLOG_LEVEL": "trace", "CLI11_CONFIG": "/dev/zero"}
        digest = self.generate()["digest"]
        self.assert_same(run(*self.args(), env=env), digest)

    def test_a_current_folder_that_is_gone(self):
        gone = self.path("gone")
        os.mkdir(gone)
        here = os.open(".", os.O_RDONLY)
        try:
            os.chdir(gone)
            os.rmdir(gone)
            self.assert_done(run(*self.args()))
            self.assert_error(run("inspect", "tiny.gguf"), MODEL)
        finally:
            os.fchdir(here)
            os.close(here)


if __name__ == "__main__":
    ingot.main()
