#!/usr/bin/env python3
"""Tests --pack-cache: later starts map packed weights; damaged or stale files are packed anew."""
import glob
import json
import os
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

    def test_an_empty_name_is_refused(self):
        self.assert_error(run("run", self.model, "-p", "a", "--pack-cache", ""), USAGE)


if __name__ == "__main__":
    ingot.main()
