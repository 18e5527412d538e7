#!/usr/bin/env python3
"""Tests ingot run --save-session and --session: a continued run equals one without a stop."""
import json
import os
import random

import ingot
from ingot import DONE, IO, MODEL, USAGE, run

SAMPLING = ("--temperature", "0.8", "--seed", "5", "--top-p", "0.9", "--repetition-penalty", "1.2",
            "--frequency-penalty", "0.25", "--min-tokens", "18", "--logit-bias", "7=1.5",
            "--dry-multiplier", "0.8", "--xtc-probability", "0.5")


class Session(ingot.CliTest):
    def setUp(self):
        super().setUp()
        self.tiny = self.path("synth.gguf")
        self.assert_done(run("synth", "tiny", self.tiny, "--type", "Q8_0"))
        self.file = self.path("chat.session")

    def result(self, *args, model=None):
        return json.loads(self.assert_done(run("run", model or self.tiny, *args, "--json")).out)

    def prompt(self, count=40):
        rng = random.Random(3)
        return ",".join(str(rng.randrange(259, 320)) for _ in range(count))

    def test_it_goes_on_bit_for_bit(self):
        for kv_type in ("f32", "f16", "bf16", "int8"):
            with self.subTest(kv_type=kv_type):
                kv = ("--kv-type", kv_type, "--logprobs", "2")
                asked = ("--tokens", self.prompt(), *SAMPLING)
                whole = self.result(*asked, *kv, "--max-tokens", "20")
                first = self.result(*asked, *kv, "--max-tokens", "10", "--save-session", self.file)
                rest = self.result("--session", self.file, *kv, "--max-tokens", "10")
                self.assertEqual(first["ids"] + rest["ids"], whole["ids"])
                self.assertEqual(first["logprobs"] + rest["logprobs"], whole["logprobs"])
                self.assertEqual(rest["prompt_ids"], first["prompt_ids"] + first["ids"])

    def test_it_is_saved_and_taken_up_again_and_again(self):
        asked = ("--tokens", self.prompt(5), *SAMPLING)
        whole = self.result(*asked, "--max-tokens", "24")["ids"]
        got = self.result(*asked, "--max-tokens", "6", "--save-session", self.file)["ids"]
        for _ in range(3):
            got += self.result("--session", self.file, "--max-tokens", "6",
                               "--save-session", self.file)["ids"]
        self.assertEqual(got, whole)

    def test_mirostats_state_is_not_saved(self):
        self.assert_error(run("run", self.tiny, "--tokens", "1,2", "--json", "--mirostat", "2",
                              "--save-session", self.file), USAGE)

    def test_it_says_how_much_need_not_be_computed(self):
        self.result("--tokens", self.prompt(), "--max-tokens", "10", "--save-session", self.file)
        result = run("run", self.tiny, "--session", self.file, "--max-tokens", "1", "--print-ids",
                     "--log-level", "debug")
        self.assertEqual(result.code, DONE, result)
        self.assertIn("48 of 50 tokens need not be computed", result.err)

    def test_flags_come_before_its_parameters(self):
        self.result("--tokens", self.prompt(), *SAMPLING, "--max-tokens", "4",
                    "--save-session", self.file)
        kept = self.result("--session", self.file, "--max-tokens", "16")
        same = self.result("--session", self.file, "--max-tokens", "16", *SAMPLING)
        other = self.result("--session", self.file, "--max-tokens", "16", "--seed", "6")
        self.assertEqual(kept["ids"], same["ids"])
        self.assertNotEqual(kept["ids"], other["ids"])

    def test_tokens_and_text_are_appended(self):
        first = self.result("--tokens", self.prompt(), "--max-tokens", "10",
                            "--save-session", self.file)
        more = self.result("--session", self.file, "--tokens", "300,301", "--max-tokens", "5")
        ids = first["prompt_ids"] + first["ids"] + [300, 301]
        self.assertEqual(more["prompt_ids"], ids)
        fresh = self.result("--tokens", ",".join(map(str, ids)), "--max-tokens", "5")
        self.assertEqual((more["ids"], more["digest"]), (fresh["ids"], fresh["digest"]))

    def test_text_is_appended_without_a_frame(self):
        asked = ("-p", "hello there", "--max-tokens", "10")
        first = self.result(*asked, "--save-session", self.file, model=self.model)
        said = self.result("--session", self.file, "-p", "hello", "--max-tokens", "5",
                           model=self.model)
        added = said["prompt_ids"][len(first["prompt_ids"]) + len(first["ids"]):]
        framed = self.result("-p", "hello", "--max-tokens", "1", model=self.model)["prompt_ids"]
        self.assertEqual(framed[0], first["prompt_ids"][0])
        self.assertEqual(added, framed[1:])
        shown = self.assert_done(run("run", self.model, "--session", self.file, "--max-tokens",
                                     "5")).out
        more = self.result("--session", self.file, "--max-tokens", "5", model=self.model)
        self.assertEqual(shown.decode(), more["text"] + "\n")

    def refused(self, *args, model=None):
        return self.assert_error(run("run", model or self.tiny, "--session", self.file,
                                     "--max-tokens", "1", "--json", *args), MODEL)

    def test_what_does_not_belong_together_is_refused(self):
        self.result("--tokens", self.prompt(), "--max-tokens", "10", "--save-session", self.file)
        self.assertIn("here they are INT8; --kv-type chooses", self.refused("--kv-type", "int8"))
        other = self.path("other.gguf")
        self.assert_done(run("synth", "tiny", other, "--type", "Q8_0", "--seed", "9"))
        self.assertIn("its fingerprint is", self.refused(model=other))
        moved = self.path("moved.gguf")
        with open(self.tiny, "rb") as source, open(moved, "wb") as copy:
            copy.write(source.read())
        self.result("--session", self.file, "--max-tokens", "1", model=moved)
        with open(self.file, "r+b") as f:
            f.seek(12)
            f.write(b"\x63")
        self.assertIn("order version 99", self.refused())

    def test_a_damaged_file_is_refused(self):
        self.result("--tokens", self.prompt(), "--max-tokens", "10", "--save-session", self.file)
        with open(self.file, "rb") as f:
            data = f.read()
        rng = random.Random(4)
        for _ in range(10):
            at = rng.randrange(len(data))
            bad = bytearray(data)
            bad[at] ^= 1 << rng.randrange(8)
            for content in (bytes(bad), data[:at], data + b"x"):
                with open(self.file, "wb") as f:
                    f.write(content)
                self.refused()
        self.file = self.path("none")
        self.refused()
        self.file = self.folder
        self.refused()

    def test_what_cannot_be_asked_for(self):
        self.result("--tokens", self.prompt(), "--max-tokens", "1", "--save-session", self.file)
        for args in (("--session", self.file, "--jsonl"),
                     ("--session", self.file, "--messages", "m.json"),
                     ("--session", self.file, "-p", "a", "--tokens", "1"),
                     ("--save-session", self.file, "--jsonl"), ("--session", "")):
            with self.subTest(args=args):
                code = MODEL if args == ("--session", "") else USAGE
                self.assert_error(run("run", self.tiny, *args), code)

    def test_a_place_that_cannot_be_written(self):
        path = os.path.join(self.path("missing"), "s")
        self.assert_error(run("run", self.tiny, "--tokens", "1,2", "--max-tokens", "1", "--json",
                              "--save-session", path), IO)


if __name__ == "__main__":
    ingot.main()
