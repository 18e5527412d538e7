"""Tests the log-likelihoods that evaluation harnesses request, against float64 references.

INGOT_HARNESS_PYTHON names an interpreter with lm-eval[api]; then the test uses that harness too.

A harness sends a context and a continuation as token ids, many at once, with `echo`, `logprobs` and
`max_tokens` 1 or 0, and adds up the continuation's log-probabilities.
"""
import json
import math
import os
import random
import struct
import subprocess
import unittest

import server

TEXTS = 100
PROMPTS_AT_ONCE = 16
WITHIN = 1e-3
HARNESS = os.environ.get("INGOT_HARNESS_PYTHON")


def read_npy(path):
    """A float32 matrix as a list of rows."""
    with open(path, "rb") as f:
        data = f.read()
    size = struct.unpack("<H", data[8:10])[0]
    head = data[10:10 + size].decode()
    assert "'<f4'" in head and "'fortran_order': False" in head, head
    rows, cols = (int(n) for n in head.split("(")[1].split(")")[0].split(","))
    values = struct.unpack(f"<{rows * cols}f", data[10 + size:])
    return [values[i * cols:(i + 1) * cols] for i in range(rows)]


def log_softmax(row):
    top = max(row)
    total = math.log(math.fsum(math.exp(x - top) for x in row)) + top
    return [x - total for x in row]


class Golden:
    """A model's prompts with their reference logits."""

    def __init__(self, folder):
        with open(os.path.join(folder, "prompts.json"), encoding="utf-8") as f:
            self.prompts = json.load(f)["prompts"]
        rows = read_npy(os.path.join(folder, "logits.npy"))
        self.rows = []
        for prompt in self.prompts:
            self.rows.append([log_softmax(row) for row in rows[:len(prompt)]])
            rows = rows[len(prompt):]

    def draw(self, rng):
        """A context with a continuation; the continuation's log-likelihood, and if it is greedy."""
        number = rng.choice([i for i, p in enumerate(self.prompts) if len(p) > 8])
        prompt, rows = self.prompts[number], self.rows[number]
        end = rng.randint(2, len(prompt))
        begin = rng.randint(max(1, end - 12), end - 1)
        pairs = [(rows[i - 1], prompt[i]) for i in range(begin, end)]
        sure = all(abs(row[token] - max(row)) > WITHIN or row[token] == max(row)
                   for row, token in pairs)
        return {"ids": prompt[:end], "begin": begin,
                "sum": math.fsum(row[token] for row, token in pairs),
                "greedy": all(row[token] == max(row) for row, token in pairs) if sure else None}


def models():
    """Two dense models of different families with longer prompts."""
    root = os.path.join(server.ingot.SHARED, "goldens", "models")
    if not os.path.isdir(root):
        return []
    found = {}
    for name in sorted(os.listdir(root)):
        folder = os.path.join(root, name)
        with open(os.path.join(folder, "config.json"), encoding="utf-8") as f:
            kind = json.load(f)["model_type"]
        with open(os.path.join(folder, "prompts.json"), encoding="utf-8") as f:
            longest = max(len(p) for p in json.load(f)["prompts"])
        if longest >= 64:
            found.setdefault(kind, folder)
    return list(found.values())[:2]


def by_harness(running, name, texts):
    """What lm-evaluation-harness makes of them: a sum each, and whether it is greedy."""
    url = f"http://127.0.0.1:{running.address[1]}"
    client = os.path.join(os.path.dirname(os.path.abspath(__file__)), "harness_client.py")
    asked = json.dumps({"url": url, "model": name, "texts": texts})
    done = subprocess.run([HARNESS, client], input=asked, capture_output=True, text=True,
                          check=True, timeout=server.LIMIT_S)
    return json.loads(done.stdout.splitlines()[-1])


class LogLikelihoods(unittest.TestCase):
    @unittest.skipUnless(HARNESS, "INGOT_HARNESS_PYTHON names no environment with lm-eval")
    def test_a_harness_finds_the_references(self):
        for folder in models():
            golden, rng = Golden(folder), random.Random(8)
            running = server.Server(folder, "--weights", "f32", "--kv-type", "f32")
            self.addCleanup(running.kill)
            texts = [golden.draw(rng) for _ in range(TEXTS)]
            found = by_harness(running, os.path.basename(folder), texts)
            self.assertEqual(len(found), TEXTS)
            for text, (total, greedy) in zip(texts, found):
                self.assertLess(abs(total - text["sum"]), WITHIN, text)
                if text["greedy"] is not None:
                    self.assertEqual(greedy, text["greedy"], text)
            self.assertEqual(running.stop(), 0)

    def ask(self, running, texts, max_tokens):
        body = {"prompt": [t["ids"] for t in texts], "max_tokens": max_tokens, "echo": True,
                "logprobs": 1, "temperature": 0, "seed": 1234}
        reply = running.post(server.TEXT, body)
        self.assertEqual(reply.status, 200, reply)
        choices = reply.json()["choices"]
        self.assertEqual([c["index"] for c in choices], list(range(len(texts))))
        return [c["logprobs"] for c in choices]

    def check(self, text, logprobs):
        """As a harness reads it: the last token is what the model added, if it added one."""
        end = len(text["ids"])
        self.assertIsNone(logprobs["token_logprobs"][0])
        span = range(text["begin"], end)
        got = math.fsum(logprobs["token_logprobs"][i] for i in span)
        self.assertLess(abs(got - text["sum"]), WITHIN * max(1, len(span)), text)
        if text["greedy"] is not None:
            greedy = all(logprobs["token_logprobs"][i] >= max(logprobs["top_logprobs"][i].values())
                         for i in span)
            self.assertEqual(greedy, text["greedy"], text)

    def test_sums_are_the_references(self):
        folders = models()
        if not folders:
            self.skipTest("no golden models")
        self.assertEqual(len(folders), 2, folders)
        for folder in folders:
            golden, rng = Golden(folder), random.Random(7)
            running = server.Server(folder, "--weights", "f32", "--kv-type", "f32")
            self.addCleanup(running.kill)
            texts = [golden.draw(rng) for _ in range(TEXTS)]
            for at in range(0, TEXTS, PROMPTS_AT_ONCE):
                batch = texts[at:at + PROMPTS_AT_ONCE]
                for max_tokens in (1, 0):
                    for text, logprobs in zip(batch, self.ask(running, batch, max_tokens)):
                        self.assertEqual(len(logprobs["tokens"]), len(text["ids"]) + max_tokens)
                        self.check(text, logprobs)
            self.assertEqual(running.stop(), 0)


if __name__ == "__main__":
    server.main()
