#!/usr/bin/env python3
"""Tests ingot perplexity against an independent computation, and its refusals."""
import array
import json
import math
import os
import subprocess
import sys

import ingot

STORY = """\
Once upon a time there was a little fox called Rust. Rust lived under an old tree near the river. \
Every morning he sat on a stone and looked at the water. He wanted to have a boat.

One day Rust found a big brown leaf. "This is my boat!" he said. He put the leaf on the water and \
sat on it. But the leaf was too small, and Rust fell into the river. He was very wet and very sad.

An old turtle saw him. "Why are you crying, little fox?" she asked. "I want to go to the other \
side," said Rust, "but I have no boat." The turtle smiled. "Sit on my back," she said. "I am slow, \
but I never sink."

So Rust and the turtle went over the river. On the other side there were red berries and tall \
yellow flowers. They ate the berries together until the sun went down. From that day on they were \
best friends, and Rust did not need a boat any more.
"""

# tools/reference_perplexity.py stories260K.gguf --file STORY, with these flags.
REFERENCE = (
    (("--ctx", "64"), 8.788814804954596, 1.1165522721957817, 378, 6),
    (("--ctx", "200"), 5.990880730339355, 0.6066231971222056, 398, 2),
    (("--ctx", "100", "--stride", "30"), 5.543410355951285, 0.5423859507211771, 399, 11),
)

# llama.cpp's library as the package xllamacpp 2026.10.11549 has it, on stories260K.gguf and STORY
# without its last line break, with keys and values in f16: its perplexity tool's chunks by hand.
LLAMA_CPP = ((64, 6.363780166527189, 0.9452616903006101, 186, 6),
             (101, 7.454784526979655, 1.1441853072250243, 200, 4))

AS_LLAMA_CPP = ("--definition", "llama.cpp")
STORIES = os.path.join(ingot.SHARED, "data/models/stories260K/stories260K.gguf")


class Perplexity(ingot.CliTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.story = cls.file("story.txt", STORY.encode())

    def measure(self, model, *flags):
        result = self.assert_done(ingot.run("perplexity", model, "--file", self.story, "--json",
                                            *flags))
        values = self.one_json(result)
        self.assertEqual(list(values), ["perplexity", "standard_error", "tokens", "windows"])
        return values

    def stories(self):
        if not os.path.exists(STORIES):
            self.skipTest(f"{STORIES} is not there")
        return STORIES

    def assert_close(self, values, perplexity, error, tokens, windows, tolerance=5e-6):
        self.assertEqual((values["tokens"], values["windows"]), (tokens, windows))
        self.assertLess(abs(values["perplexity"] / perplexity - 1), tolerance)
        self.assertLess(abs(values["standard_error"] / error - 1), 10 * tolerance)

    def test_it_is_the_value_of_the_reference(self):
        for flags, *expected in REFERENCE:
            with self.subTest(flags=flags):
                self.assert_close(self.measure(self.stories(), "--kv-type", "f32", *flags),
                                  *expected)

    def test_the_reference_gives_this_value_today(self):
        short = self.file("short.txt", STORY[:300].encode())
        flags = ("--file", short, "--ctx", "48", "--stride", "20")
        script = os.path.join(os.environ["INGOT_TOOLS"], "reference_perplexity.py")
        command = [sys.executable, "-B", script, self.stories(), *flags]
        reference = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        result = self.assert_done(ingot.run("perplexity", self.stories(), "--json", "--kv-type",
                                            "f32", *flags))
        self.assert_close(self.one_json(result), *reference.values())

    def test_llama_cpp_gives_this_value(self):
        for context, *expected in LLAMA_CPP:
            with self.subTest(context=context):
                values = self.measure(self.stories(), "--ctx", str(context), *AS_LLAMA_CPP)
                # Both round keys and values to f16, in different orders of sums.
                self.assert_close(values, *expected, tolerance=5e-5)

    def test_the_definition_of_llama_cpp_by_logits(self):
        context = 40
        text = self.file("cut.txt", STORY[:-1].encode())
        ids = self.assert_done(ingot.run("tokenize", self.model, "--file", text, "--add-special",
                                         "--user-defined")).out.decode().strip().split(",")
        costs = []
        for begin in range(0, len(ids) - context + 1, context):
            window = [ids[0], *ids[begin + 1:begin + context]]  # BOS in place of the first token
            for position, row in enumerate(self.logits(window)[:-1]):
                if position < context // 2:
                    continue
                top = max(row)
                total = math.fsum(math.exp(v - top) for v in row)
                costs.append(math.log(total) + top - row[int(window[position + 1])])
        mean = math.fsum(costs) / len(costs)
        variance = math.fsum((c - mean) ** 2 for c in costs) / (len(costs) - 1)
        values = self.measure(self.model, "--ctx", str(context), *AS_LLAMA_CPP)
        self.assert_close(values, math.exp(mean),
                          math.exp(mean) * math.sqrt(variance / len(costs)), len(costs),
                          len(ids) // context)

    def logits(self, tokens):
        """The rows of logits of these tokens."""
        out = self.path("logits.npy")
        self.assert_done(ingot.run("logits", self.model, "--tokens", ",".join(tokens), "--out",
                                   out))
        with open(out, "rb") as file:
            content = file.read()
        values = array.array("f", content[10 + int.from_bytes(content[8:10], "little"):])
        width = len(values) // len(tokens)
        return [values[i * width:(i + 1) * width] for i in range(len(tokens))]

    def test_the_context_of_llama_cpp_is_512(self):
        long = self.file("long.txt", STORY.encode() * 4)
        flags = ("--file", long, "--log-level", "error", "--json", *AS_LLAMA_CPP)
        found = [self.one_json(self.assert_done(ingot.run("perplexity", self.model, *flags, *ctx)))
                 for ctx in ((), ("--ctx", "512"))]
        self.assertEqual(found[0], found[1])
        self.assertEqual(found[0]["tokens"], found[0]["windows"] * 255)

    def test_neither_batches_nor_threads_change_a_bit(self):
        flags = ("--ctx", "32", "--stride", "13")
        expected = self.measure(self.model, *flags)
        for more in (("--threads", "1"), ("--threads", "3"), ("--step-rows", "1"),
                     ("--step-rows", "37"), ("--cpu-isa", "scalar")):
            with self.subTest(more=more):
                self.assertEqual(self.measure(self.model, *flags, *more), expected)

    def test_text_form(self):
        flags = ("--ctx", "32", "--stride", "13")
        values = self.measure(self.model, *flags)
        result = self.assert_done(ingot.run("perplexity", self.model, "--file", self.story,
                                            *flags))
        self.assertEqual(result.out.decode(),
                         f"perplexity {values['perplexity']:.4f} +/- "
                         f"{values['standard_error']:.4f} ({values['tokens']} tokens in "
                         f"{values['windows']} windows)\n")

    def test_refused(self):
        empty = self.file("empty.txt", b"")
        for args, code, says in (
                (("--file", self.story, "--ctx", "1"), ingot.USAGE, "--ctx 1 is too short"),
                (("--file", self.story, "--ctx", "9", "--stride", "9"), ingot.USAGE, "--stride 9"),
                (("--file", self.story, "--ctx", "9", "--stride", "0"), ingot.USAGE, "--stride"),
                (("--file", empty, "--ctx", "9"), ingot.USAGE, "the text has 0 tokens"),
                (("--file", self.folder, "--ctx", "9"), ingot.MODEL, "file @0"),
                (("--file", self.path("none"), "--ctx", "9"), ingot.MODEL, "file @0"),
                (("--ctx", "9"), ingot.USAGE, "--file"),
                (("--file", self.story, "--ctx", "400", *AS_LLAMA_CPP), ingot.USAGE,
                 "llama.cpp takes two windows of 400: --ctx makes them shorter"),
                (("--file", self.story, "--ctx", "2", *AS_LLAMA_CPP), ingot.USAGE, "too short"),
                (("--file", self.story, "--stride", "4", *AS_LLAMA_CPP), ingot.USAGE,
                 "--stride excludes --definition llama.cpp"),
                (("--file", self.story, "--definition", "vllm"), ingot.USAGE, "llama.cpp")):
            with self.subTest(args=args):
                self.assert_error(ingot.run("perplexity", self.model, *args), code, says)

    def test_bytes_that_are_no_text(self):
        noise = self.file("noise.txt", bytes(range(256)) * 4)
        result = self.assert_done(ingot.run("perplexity", self.model, "--file", noise, "--ctx",
                                            "32", "--json"))
        self.assertEqual(self.one_json(result)["windows"], 1 + (self.one_json(result)["tokens"] - 1)
                         // 31)


if __name__ == "__main__":
    ingot.main()
