"""Tests the API examples on a tiny model: their output must equal that of `ingot run`."""
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.environ["INGOT_TOOLS"])
import make_tiny_model

MODEL = os.environ["INGOT_TINY_MODEL"]


def output(*args):
    return subprocess.run(args, stdout=subprocess.PIPE, check=True, timeout=60).stdout


def run(prompt, *flags):
    return output(os.environ["INGOT_BINARY"], "run", MODEL, "-p", prompt, "--max-tokens", "16",
                  *flags)


class Examples(unittest.TestCase):
    def test_generate_prints_both_texts(self):
        for prompts in ((), ("in an",), ("the end", "or it")):
            first, second = (prompts + ("Once", "There")[len(prompts):])[:2]
            expected = b"first: " + run(first) + b"(16 tokens)\nsecond: " + \
                run(second, "--temperature", "0.8", "--seed", "1")
            self.assertEqual(output(os.environ["INGOT_EXAMPLE"], MODEL, *prompts), expected)

    def test_generate_c(self):
        self.assertEqual(output(os.environ["INGOT_EXAMPLE_C"], MODEL, "in an"), run("in an"))

    def test_embeddings_continue_as_their_tokens_do(self):
        """The file has the rows of the prompt's tokens, so that the text is that of the prompt."""
        ids = json.loads(run("in an", "--json"))["prompt_ids"]
        size = 4 * make_tiny_model.HIDDEN
        table = make_tiny_model.weights(random.Random(1), make_tiny_model.VOCAB * size // 4, 1.0)
        with tempfile.NamedTemporaryFile() as rows:
            rows.write(b"".join(table[i * size:(i + 1) * size] for i in ids))
            rows.flush()
            got = output(os.environ["INGOT_EXAMPLE_EMBEDDINGS"], MODEL, rows.name)
            more = output(os.environ["INGOT_EXAMPLE_EMBEDDINGS"], MODEL, rows.name, "nd")
        text = run("in an")[len("in an"):]
        self.assertEqual(got, b"%d rows\n%s" % (len(ids), text))
        self.assertNotEqual(more, got)

    def test_errors_are_one_line(self):
        for name in ("INGOT_EXAMPLE", "INGOT_EXAMPLE_C", "INGOT_EXAMPLE_EMBEDDINGS"):
            done = subprocess.run([os.environ[name], MODEL + ".not", MODEL], stderr=subprocess.PIPE,
                                  check=False, timeout=60)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, rb"^error: .*no such file\n$")


if __name__ == "__main__":
    unittest.main()
