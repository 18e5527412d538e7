#!/usr/bin/env python3
"""Tests models by name: ingot models, ingot rm, and MODEL in every command. The cache has the
layout of the Hugging Face hub's own client."""
import hashlib
import itertools
import json
import os
import pty

import ingot
import model_files
from ingot import DONE, MODEL, USAGE, WITHOUT_TOKENIZER, arguments

COMMIT, OTHER = "c0" * 20, "d1" * 20
BUILT_IN = "ingot-demo"  # is listed last, whatever was pulled


class CacheTest(ingot.CliTest):
    """A cache with a safetensors model, and GGUF models of two types in one repository."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.gguf = model_files.tiny_gguf().build()
        config, tensors = model_files.tiny_hf()
        cls.config = json.dumps(config).encode()
        cls.tensors = model_files.safetensors(tensors)

    def setUp(self):
        self.cache = self.path(self.id().rsplit(".", 1)[-1])
        self.env = {name: None for name in os.environ if name.startswith(("HF_", "HUGGING"))}
        self.env["HF_HUB_CACHE"] = self.cache
        os.mkdir(self.cache)

    def repo_path(self, name, *below):
        return os.path.join(self.cache, "models--" + name.replace("/", "--"), *below)

    def add(self, name, files, commit=COMMIT, ref="main"):
        """A snapshot of these files; `ref` names it."""
        for path, content in files.items():
            blob = hashlib.sha1(content).hexdigest()
            os.makedirs(self.repo_path(name, "blobs"), exist_ok=True)
            with open(self.repo_path(name, "blobs", blob), "wb") as f:
                f.write(content)
            link = self.repo_path(name, "snapshots", commit, path)
            os.makedirs(os.path.dirname(link), exist_ok=True)
            os.symlink("../" * path.count("/") + "../../blobs/" + blob, link)
        if ref:
            os.makedirs(os.path.dirname(self.repo_path(name, "refs", ref)), exist_ok=True)
            with open(self.repo_path(name, "refs", ref), "w", encoding="ascii") as f:
                f.write(commit)

    def fill(self):
        self.add("user/safe", {"config.json": self.config, "model.safetensors": self.tensors})
        self.add("user/Pair-GGUF", {"m-Q4_0.gguf": self.gguf, "m-Q8_0/m-Q8_0.gguf": self.gguf})

    def ingot(self, *args, **how):
        return ingot.run(*args, env=self.env, **how)


class Names(CacheTest):
    def test_every_command_takes_a_name(self):
        self.fill()
        names = ("user/safe", "safe", "user/Pair-GGUF:Q8_0", "pair-gguf:m-Q4_0")
        for command, name in zip(WITHOUT_TOKENIZER, itertools.cycle(names)):
            result = self.ingot(*arguments(command, name, self.cache))
            self.assertEqual(result.code, DONE, result)
        for name in names:
            self.assert_done(self.ingot("inspect", name))

    def test_a_name_gives_the_model_of_its_path(self):
        self.fill()
        digest = self.generate()["digest"]
        self.assertEqual(self.generate("user/Pair-GGUF:Q4_0", env=self.env)["digest"], digest)
        folder = self.repo_path("user/safe", "snapshots", COMMIT)
        self.assertEqual(self.generate("safe", env=self.env)["digest"],
                         self.generate(folder)["digest"])

    def test_what_exists_is_a_path(self):
        self.fill()
        os.mkdir(self.path("user"))
        os.mkdir(self.path("user/safe"))
        self.assert_error(self.ingot("inspect", "user/safe", cwd=self.path("")), MODEL,
                          "no model found")

    def test_what_is_unknown(self):
        self.fill()
        line = self.assert_error(self.ingot("inspect", "user/none"), MODEL, "no such file")
        self.assertIn("ingot pull user/none", line)
        for name in ("user/safe@v2", "user/Pair-GGUF:Q6_K", "none", "Safe.gguf"):
            self.assert_model_error(self.ingot("inspect", name), name, "no such file")
        self.assert_model_error(self.ingot("inspect", "no/such/file"), "no/such/file",
                                "no such file")

    def test_what_could_mean_several(self):
        self.fill()
        result = self.ingot("inspect", "user/Pair-GGUF")
        self.assertEqual(result.code, DONE, result)
        self.assertIn("taking Q4_0; user/Pair-GGUF:Q8_0 names another: Q8_0\n", result.err)
        self.add("user/two", {"a-Q4_0.gguf": self.gguf, "b-Q8_0.gguf": self.gguf})
        self.assert_error(self.ingot("inspect", "user/two"), USAGE, "user/two:Q4_0", "Q8_0")
        self.add("other/safe", {"config.json": self.config})
        self.assert_error(self.ingot("inspect", "safe"), USAGE, "other/safe, user/safe")

    def test_without_a_cache(self):
        self.env.update({"HF_HUB_CACHE": None, "HOME": None, "XDG_CACHE_HOME": None})
        self.assert_error(self.ingot("inspect", "user/none"), MODEL, "no such file")
        listed = json.loads(self.ingot("models", "--json").out)["models"]
        self.assertEqual([model["name"] for model in listed], [BUILT_IN])

    def test_pointers_in_place_of_files(self):
        """A clone of a repository without git lfs, as a folder and as a snapshot."""
        pointer = ingot.LFS_POINTER
        self.add("user/lfs", {"config.json": self.config, "model.safetensors": pointer})
        self.add("user/gg", {"m-Q4_0.gguf": pointer})
        clone = self.file("clone/m.gguf", pointer)
        tokenizer = self.file("clone/tokenizer.json", pointer)
        for model in ("user/lfs", "user/gg", clone, os.path.dirname(clone)):
            line = self.assert_error(self.ingot("inspect", model), MODEL, "is a Git LFS pointer")
            self.assertIn("a file of 4368439584 bytes, which is not here: run git lfs pull", line)
            self.assertIn("ingot pull USER/NAME", line)
        self.assert_error(self.ingot("tokenize", tokenizer, "-p", "a"), MODEL,
                          "is a Git LFS pointer")

    def test_a_snapshot_whose_links_lead_elsewhere(self):
        self.fill()
        secret = self.file("secret.json", self.config)
        link = self.repo_path("user/safe", "snapshots", COMMIT, "config.json")
        for target in (secret, os.path.relpath(secret, os.path.dirname(link)),
                       "../../../../secret.json", "../../blobs/../../../secret.json"):
            os.unlink(link)
            os.symlink(target, link)
            folder = os.path.dirname(link)
            for model in (folder, "user/safe"):
                self.assert_error(self.ingot("inspect", model), MODEL)


class Models(CacheTest):
    def test_an_empty_cache(self):
        title, built_in = self.assert_done(self.ingot("models")).out.decode().splitlines()
        self.assertEqual(title.split(), ["NAME", "SIZE", "FORMAT", "PATH"])
        self.assertEqual(built_in.split()[0], BUILT_IN)
        self.assertTrue(built_in.endswith("  gguf         (built in)"), built_in)
        self.assertEqual(self.assert_done(self.ingot("models", "--names")).out.decode(),
                         f"{BUILT_IN}\n")
        os.rmdir(self.cache)
        (model,) = self.one_json(self.assert_done(self.ingot("models", "--json")))["models"]
        self.assertGreater(model.pop("size"), 0)
        self.assertEqual(model, {"name": BUILT_IN, "path": None, "formats": ["gguf"]})

    def test_what_is_there(self):
        self.fill()
        self.add("user/safe", {"config.json": b"{}"}, OTHER, None)
        os.makedirs(self.repo_path("user/empty", "snapshots"))
        top = self.repo_path("user/Pair-GGUF", "snapshots", COMMIT)
        safe = self.repo_path("user/safe", "snapshots")
        found = self.one_json(self.assert_done(self.ingot("models", "--json")))["models"]
        self.assertEqual(found[-1]["name"], BUILT_IN)
        self.assertEqual(found[:-1], [
            {"name": "user/Pair-GGUF:Q4_0", "size": len(self.gguf), "path": f"{top}/m-Q4_0.gguf",
             "formats": ["gguf"]},
            {"name": "user/Pair-GGUF:Q8_0", "size": len(self.gguf),
             "path": f"{top}/m-Q8_0/m-Q8_0.gguf", "formats": ["gguf"]},
            {"name": "user/safe", "size": len(self.config) + len(self.tensors),
             "path": f"{safe}/{COMMIT}", "formats": ["safetensors"]},
            {"name": f"user/safe@{OTHER}", "size": 2, "path": f"{safe}/{OTHER}", "formats": []},
        ])
        names = self.assert_done(self.ingot("models", "--names")).out.decode().split("\n")[:-1]
        self.assertEqual(names, [m["name"] for m in found])
        table = self.assert_done(self.ingot("models")).out.decode().split("\n")
        self.assertEqual([row.split()[0] for row in table[1:-1]], names)
        self.assertEqual(table[4].split()[1:4], ["2", "B", "-"])
        self.assert_error(self.ingot("models", "--json", "--names"), USAGE)

    def test_sizes_are_readable(self):
        for size, shown in ((999, "999 B"), (1000, "1.00 kB"), (4370, "4.37 kB"),
                            (43700, "43.7 kB"), (999999, "999 kB"), (5 << 30, "5.36 GB")):
            self.add(f"user/s{size}", {"m.gguf": b"x"})
            blobs = self.repo_path(f"user/s{size}", "blobs")
            os.truncate(os.path.join(blobs, os.listdir(blobs)[0]), size)
            table = self.ingot("models").out.decode()
            row = next(r for r in table.split("\n") if r.startswith(f"user/s{size} "))
            self.assertEqual(" ".join(row.split()[1:3]), shown)


class Rm(CacheTest):
    def names(self):
        *pulled, built_in = self.ingot("models", "--names").out.decode().split()
        self.assertEqual(built_in, BUILT_IN)
        return pulled

    def test_yes(self):
        self.fill()
        result = self.assert_done(self.ingot("rm", "user/safe", "--yes"))
        self.assertEqual((result.out, result.err), (b"", ""))
        self.assertEqual(self.names(), ["user/Pair-GGUF:Q4_0", "user/Pair-GGUF:Q8_0"])
        self.assertFalse(os.path.exists(self.repo_path("user/safe")))
        self.assert_done(self.ingot("rm", "pair-gguf:Q8_0", "-y"))
        self.assertEqual(self.names(), ["user/Pair-GGUF"])
        self.assert_error(self.ingot("rm", "user/safe", "--yes"), MODEL, "not in the cache")

    def test_where_nobody_can_be_asked(self):
        self.fill()
        self.assert_error(self.ingot("rm", "user/safe"), USAGE, "--yes",
                          f"remove 2 files of user/safe ({len(self.config) + len(self.tensors)}")
        self.assertIn("user/safe", self.names())
        # A command would open one of the two quantisations; rm names both before both go.
        self.assert_error(self.ingot("rm", "pair-gguf"), USAGE,
                          "remove all 2 models (Q4_0, Q8_0), 2 files of user/Pair-GGUF")

    def test_the_answer_counts(self):
        self.fill()
        for answer, goes in ((b"\n", False), (b"n\n", False), (b"\x04", False), (b"y\n", True)):
            master, slave = pty.openpty()
            os.write(master, answer)
            result = self.ingot("rm", "user/safe", stdin=slave)
            os.close(slave)
            os.close(master)
            self.assertEqual(result.code, DONE, result)
            self.assertRegex(result.err, r"^remove 2 files of user/safe .*\? \[y/N\] $")
            self.assertEqual("user/safe" not in self.names(), goes)

    def test_names_that_are_none(self):
        for name in ("", "../x", "/etc", "a/b/c", "user/safe:../x", "user/..", "."):
            self.assert_error(self.ingot("rm", name, "--yes"), USAGE, "NAME")


if __name__ == "__main__":
    ingot.main()
