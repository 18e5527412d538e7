#!/usr/bin/env python3
"""Tests the pack cache: later starts map packed weights; damaged or stale files are packed anew;
the default folder is private and bounded."""
import glob
import json
import os
import re
import resource
import stat
import struct

import ingot
from ingot import USAGE, run

MASK = (1 << 64) - 1


def checksum(data):
    """The sum of base/checksum.h."""
    def step(h, word):
        h = ((h ^ word) * 0x9E3779B97F4A7C15) & MASK
        return (h << 29 | h >> 35) & MASK

    chains = [0] * 8
    padded = data + bytes(-len(data) % 64)
    for i, (word,) in enumerate(struct.iter_unpack("<Q", padded)):
        chains[i % 8] = step(chains[i % 8], word)
    total = len(data)
    for chain in chains:
        total = step(total, chain)
    return total


class PackCache(ingot.CliTest):
    def setUp(self):
        super().setUp()
        self.model = self.path("tiny.gguf")
        self.assert_done(run("synth", "tiny", self.model, "--type", "Q4_K"))
        self.cache = self.path(f"{self.id()}/of/weights")
        self.plain = self.digest()

    def files(self):
        return sorted(glob.glob(os.path.join(glob.escape(self.cache), "*.ingot-pack")))

    def result(self, *more):
        return self.assert_done(run("run", self.model, "--tokens", "1,2,3", "--max-tokens", "4",
                                    "--json", *more))

    def digest(self, *more):
        return json.loads(self.result(*more).out)["digest"]

    def cached(self, *more):
        result = self.result("--pack-cache", self.cache, *more)
        return json.loads(result.out)["digest"], result.err

    def damage(self, change):
        """Changes the bytes of the one file there is."""
        path, = self.files()
        with open(path, "rb") as f:
            data = bytearray(f.read())
        data = change(data)
        with open(path, "wb") as f:
            f.write(data)

    def test_it_is_kept_once_and_gives_the_same_bits(self):
        self.assertEqual(self.cached(), (self.plain, ""))
        path, = self.files()
        before = os.stat(path)
        for isa in ("scalar", "auto"):
            self.assertEqual(self.cached("--cpu-isa", isa, "--threads", "1"), (self.plain, ""))
        after = os.stat(path)
        self.assertEqual((before.st_ino, before.st_mtime_ns), (after.st_ino, after.st_mtime_ns))

    def test_its_bytes_are_what_is_computed_with(self):
        """A scale that is changed along with its checksum changes the result."""
        self.cached()

        def change(data):
            key_bytes, count = struct.unpack_from("<QQ", data, 8)
            table = len(data) - 8 - 24 * count
            for i in range(count):
                at, size, _ = struct.unpack_from("<QQQ", data, table + 24 * i)
                data[at:at + 32] = struct.pack("<e", 0.5) * 16
                struct.pack_into("<Q", data, table + 24 * i + 16,
                                 checksum(bytes(data[at:at + size])))
            covered = data[24:24 + key_bytes] + data[table:-8]
            struct.pack_into("<Q", data, len(data) - 8, checksum(bytes(covered)))
            return data

        self.damage(change)
        digest, err = self.cached()
        self.assertEqual(err, "")
        self.assertNotEqual(digest, self.plain)

    def test_damage_is_said_and_mended(self):
        self.cached()

        def change_weight(data):
            """Flips a bit of the last weight, which ends where the table begins."""
            count, = struct.unpack_from("<Q", data, 16)
            data[len(data) - 8 - 24 * count - 1] ^= 1
            return data

        changes = [change_weight, lambda d: d[:-1], lambda d: d[:100], lambda d: bytearray(),
                   lambda d: d[:-9] + bytes([d[-9] ^ 1]) + d[-8:],
                   lambda d: b"X" + d[1:], lambda d: d + b"\0"]
        for i, change in enumerate(changes):
            with self.subTest(change=i):
                self.damage(change)
                digest, err = self.cached()
                self.assertEqual(digest, self.plain)
                self.assertRegex(err, r"^warning: .*\.ingot-pack: packed weights @\d+: .*; "
                                      r"it is packed anew\n$")
                self.assertEqual(self.cached(), (self.plain, ""))

    def test_another_model_or_rounding_is_another_file(self):
        dense = self.path("dense.gguf")
        self.assert_done(run("synth", "tiny", dense, "--type", "BF16"))
        self.cached()
        self.model = dense
        whole = self.digest()
        rounded = self.digest("--weights", "q8_0")
        self.assertNotEqual(whole, rounded)
        for _ in range(2):
            self.assertEqual(self.cached(), (whole, ""))
            self.assertEqual(self.cached("--weights", "q8_0"), (rounded, ""))
        self.assertEqual(len(self.files()), 3)
        self.assert_done(run("synth", "tiny", dense, "--type", "BF16", "--seed", "9"))
        other = self.digest()
        self.assertNotEqual(other, whole)
        self.assertEqual(self.cached(), (other, ""))
        self.assertEqual(len(self.files()), 4)

    def test_a_folder_that_cannot_be_written_is_a_warning(self):
        self.cache = os.path.join(self.file("file", b""), "below")
        digest, err = self.cached()
        self.assertEqual(digest, self.plain)
        self.assertRegex(err, r"^warning: packed weights are not kept: .*file/below: .*\n$")

    def test_the_built_in_model_is_no_file(self):
        result = run("run", "-p", "Once", "--max-tokens", "2", "--pack-cache", self.cache,
                     "--log-level", "warning")
        self.assertEqual(self.assert_done(result).err,
                         "warning: the pack cache only keeps models that are files\n")
        self.assertFalse(os.path.exists(self.cache))

    def test_wrong_options_are_refused(self):
        for options in (["--pack-cache", ""], ["--pack-cache-limit", "1T"],
                        ["--pack-cache-limit", "-1"], ["--pack-cache-limit", "1t"],
                        ["--pack-cache-limit", ""],
                        ["--no-pack-cache", "--pack-cache", self.cache],
                        ["--no-pack-cache", "--pack-cache-limit", "1G"]):
            self.assert_error(run("run", self.model, "-p", "a", *options), USAGE, options[0])
        self.assertFalse(os.path.exists(self.cache))

    def test_a_limit_needs_a_folder_and_its_unit_may_be_small(self):
        nowhere = {"XDG_CACHE_HOME": None, "HOME": self.path("no-home")}
        command = ("run", self.model, "--tokens", "1", "--max-tokens", "1", "--json")
        self.assert_error(run(*command, "--pack-cache-limit", "1g", env=nowhere), USAGE,
                          "--pack-cache-limit needs a folder")
        self.assert_done(run(*command, "--pack-cache-limit", "1g", "--pack-cache", self.cache,
                             env=nowhere))

    def test_a_folder_in_a_files_place_is_never_packed_anew(self):
        self.cached()
        path, = self.files()
        os.unlink(path)
        os.mkdir(path)
        for _ in range(2):
            digest, err = self.cached()
            self.assertEqual(digest, self.plain)
            self.assertRegex(err, r"^warning: the pack cache cannot be used: .*is a directory\n$")
        self.assertTrue(os.path.isdir(path))

    def test_the_least_recently_used_goes_first(self):
        models = [self.path(f"{seed}.gguf") for seed in "123"]
        for seed, model in zip("123", models):
            self.assert_done(run("synth", "tiny", model, "--type", "Q4_K", "--seed", seed))
        names = []
        for model in models[:2]:
            self.model = model
            self.assertEqual(self.cached()[1], "")
            names.append(next(f for f in self.files() if f not in names))
        limit = ["--pack-cache-limit", str(2 * os.path.getsize(names[0]) + 100_000)]
        os.utime(names[0], ns=(0, os.stat(names[0]).st_mtime_ns))
        self.model = models[0]
        self.assertEqual(self.cached(*limit)[1], "")
        self.model = models[2]
        self.assertEqual(self.cached(*limit)[1], "")
        self.assertEqual(len(self.files()), 2)
        self.assertIn(names[0], self.files(), "it was used after the other one")

    def test_what_cannot_fit_is_said_and_evicts_nothing(self):
        self.cached()
        kept = self.files()
        self.model = self.path("larger.gguf")
        self.assert_done(run("synth", "tiny", self.model, "--type", "F32"))
        limit = os.path.getsize(kept[0]) + 100
        for _ in range(2):
            _, err = self.cached("--pack-cache-limit", str(limit))
            self.assertRegex(err, r"^warning: packed weights \(\d+ MB\) are not kept: the pack "
                                  r"cache's limit is \d+ MB \(--pack-cache-limit\)\n$")
        self.assertEqual(self.files(), kept)


class DefaultFolder(ingot.CliTest):
    """The folder in the user's cache. Its models have over 32 MiB of weights."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.large = cls.path("large.gguf")
        done = run("synth", "tiny", cls.large, "--type", "F32", "--layers", "16")
        assert done.code == 0, str(done)

    def setUp(self):
        super().setUp()
        self.home = self.path(self.id())
        self.folder_path = os.path.join(self.home, "ingot", "packed")
        self.env = {"XDG_CACHE_HOME": self.home}

    def files(self):
        return sorted(glob.glob(os.path.join(glob.escape(self.folder_path), "*")))

    def command(self, *more):
        return ("run", self.large, "--tokens", "1,2,3", "--max-tokens", "4", "--json", *more)

    def done(self, result):
        """A run that ended well, which may have said more than warnings."""
        self.assertEqual(result.code, 0, result)
        return result

    def outcome(self, *more):
        result = self.done(run(*self.command(*more), env=self.env))
        return json.loads(result.out)["digest"], result.err

    def test_the_first_start_says_it_and_the_second_maps_it(self):
        plain = self.outcome("--no-pack-cache")
        self.assertEqual(plain[1], "")
        self.assertFalse(os.path.exists(self.home))
        digest, err = self.outcome()
        self.assertEqual(digest, plain[0])
        self.assertRegex(err, r"^info: packed weights \(\d+ MB\) are kept in " +
                         re.escape(self.folder_path) + r" .*--no-pack-cache.*\n$")
        path, = self.files()
        before = os.stat(path)
        self.assertEqual(stat.S_IMODE(before.st_mode), 0o600)
        for folder in (self.home, os.path.dirname(self.folder_path), self.folder_path):
            self.assertEqual(stat.S_IMODE(os.stat(folder).st_mode), 0o700)
        os.utime(path, ns=(0, before.st_mtime_ns))
        self.assertEqual(self.outcome(), plain)
        after = os.stat(path)
        self.assertEqual((before.st_ino, before.st_mtime_ns), (after.st_ino, after.st_mtime_ns))
        self.assertGreater(after.st_atime_ns, before.st_mtime_ns, "the time of use")

    def test_it_is_below_home_without_xdg(self):
        self.env = {"XDG_CACHE_HOME": None, "HOME": self.home}
        os.mkdir(self.home)
        self.outcome()
        self.folder_path = os.path.join(self.home, ".cache", "ingot", "packed")
        self.assertEqual(len(self.files()), 1)
        self.env["XDG_CACHE_HOME"] = "relative"  # to be ignored, by the specification
        self.assertEqual(self.outcome()[1], "")

    def test_without_a_home_there_is_none(self):
        for home in (None, "", "relative", self.path("no-home"), "/dev/null"):
            self.env = {"XDG_CACHE_HOME": None, "HOME": home}
            self.assertEqual(self.outcome()[1], "")
        self.env = {"XDG_CACHE_HOME": "/dev/null/cache"}
        self.assertEqual(self.outcome()[1], "")

    def test_small_models_and_the_built_in_one_are_not_kept(self):
        for model in ([self.model], []):
            result = run("run", *model, "--tokens", "1,2", "--max-tokens", "1", env=self.env)
            self.assertNotIn("pack", self.done(result).err)
        self.assertFalse(os.path.exists(self.home))

    def test_a_folder_that_others_can_write_is_not_used(self):
        self.outcome()
        path, = self.files()
        os.chmod(self.folder_path, 0o777)
        used = os.stat(path).st_atime_ns
        _, err = self.outcome()
        self.assertRegex(err, r"^warning: " + re.escape(self.folder_path) +
                         r": other users can write to this folder .*\n$")
        self.assertEqual(os.stat(path).st_atime_ns, used)
        os.chmod(self.folder_path, 0o700)
        os.chmod(path, 0o666)
        _, err = self.outcome()
        self.assertRegex(err, r"^warning: .* others can write to it; it is packed anew\n"
                              r"info: packed weights .*\n$")
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)

    def test_a_home_that_cannot_be_written_is_one_line(self):
        os.mkdir(self.home)
        with open(os.path.join(self.home, "ingot"), "wb"):
            pass
        _, err = self.outcome()
        self.assertRegex(err, r"^info: packed weights are not kept: .*not a directory.*"
                              r"--no-pack-cache.*\n$")

    def test_a_full_disk_is_one_line_and_leaves_nothing(self):
        result = run(*self.command(), env=self.env, limits={resource.RLIMIT_FSIZE: 8 << 20})
        self.assertRegex(self.done(result).err,
                         r"^info: packed weights are not kept: .*cannot write: .*\n$")
        self.assertEqual(self.files(), [])

    def test_processes_that_start_at_once_are_safe(self):
        plain, _ = self.outcome("--no-pack-cache")
        started = [ingot.start(*self.command(), env=self.env) for _ in range(3)]
        for process in started:
            result = self.done(ingot.finish(process))
            self.assertEqual(json.loads(result.out)["digest"], plain)
        self.assertEqual(len(self.files()), 1)
        self.assertEqual(self.outcome(), (plain, ""))

    def test_a_killed_writer_leaves_a_file_that_goes(self):
        os.makedirs(self.folder_path, 0o700)
        left = os.path.join(self.folder_path, "0123456789abcdef.ingot-pack.tmp-1-0")
        with open(left, "wb") as f:
            f.write(b"x")
        self.outcome()
        path, = self.files()
        self.assertTrue(path.endswith(".ingot-pack"))


if __name__ == "__main__":
    ingot.main()
