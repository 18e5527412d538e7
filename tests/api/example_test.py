"""Tests the API examples on a tiny model: their output must equal that of `ingot run`."""
import os
import subprocess
import unittest

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

    def test_errors_are_one_line(self):
        for name in ("INGOT_EXAMPLE", "INGOT_EXAMPLE_C"):
            done = subprocess.run([os.environ[name], MODEL + ".not"], stderr=subprocess.PIPE,
                                  check=False, timeout=60)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, rb"^error: .*no such file\n$")


if __name__ == "__main__":
    unittest.main()
