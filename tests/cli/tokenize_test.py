#!/usr/bin/env python3
"""Tests ingot tokenize: text to ids and back, with every kind of tokenizer file."""
import json
import os
import subprocess

import ingot
from ingot import CHECK_FAILED, DONE, MODEL, SHARED, USAGE, run

WORDS = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nhello\n##s\nworld\n"


class Tokenize(ingot.CliTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.words = cls.file("words", WORDS.encode())

    def replies(self, *models, requests, code=DONE):
        text = "".join(json.dumps(r) + "\n" for r in requests)
        with subprocess.Popen([ingot.BINARY, "tokenize", *models, "--jsonl"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            out, err = process.communicate(text.encode(), timeout=ingot.TIMEOUT_S)
            self.assertEqual(process.returncode, code, err)
        return [json.loads(line) for line in out.decode().splitlines()]

    def test_text_forms(self):
        found = self.assert_done(run("tokenize", self.words, "-p", "Hellos world"))
        self.assertEqual(found.out, b"5,6,7\n")
        framed = run("tokenize", self.words, "-p", "hello [SEP]", "--add-special", "--special")
        self.assertEqual(self.assert_done(framed).out, b"2,5,3,3\n")
        text = self.file("text.txt", b"hello\nworld")
        self.assertEqual(self.assert_done(run("tokenize", self.words, "--file", text)).out,
                         b"5,7\n")
        decoded = run("tokenize", self.words, "--ids", "2,5,6,7,3")
        self.assertEqual(self.assert_done(decoded).out, b"[CLS] hellos world [SEP]\n")
        self.assertEqual(self.assert_done(run("tokenize", self.words, "-p", "")).out, b"\n")

    def test_jsonl(self):
        found = self.replies(self.words, requests=[
            {"text": "hello"}, {"text": "hello", "add_special": True},
            {"text": "[MASK]", "special": True}, {"text": "[MASK]", "user_defined": True},
            {"ids": [2, 5, 3]}, {"ids": []}])
        self.assertEqual(found[0], {"ids": [5]})
        self.assertEqual(found[1], {"ids": [2, 5, 3]})
        self.assertEqual(found[2], {"ids": [4]})
        self.assertEqual(found[3], {"ids": [1, 1, 1]})
        self.assertEqual(found[4], {"text": "[CLS] hello [SEP]"})
        self.assertEqual(found[5], {"text": ""})

    def test_bad_lines_have_errors_in_their_place(self):
        requests = [{"text": "hello"}, {"text": 5}, {"ids": [8]}, {"ids": [-1]}, {"ids": "1"},
                    {}, {"text": "a", "ids": []}, {"text": "a", "other": 1},
                    {"text": "a", "special": 1}, [], {"text": "world"}]
        found = self.replies(self.words, requests=requests, code=CHECK_FAILED)
        self.assertEqual(len(found), len(requests))
        self.assertEqual(found[0], {"ids": [5]})
        self.assertEqual(found[-1], {"ids": [7]})
        for reply in found[1:-1]:
            self.assertEqual(list(reply), ["error"])
            self.assertNotIn("\n", reply["error"])

    def test_blank_lines_and_a_byte_order_mark(self):
        lines = self.file("lines", b'\xef\xbb\xbf\r\n{"text": "hello"}\r\n\n \t\n{\n{"ids": [7]}')
        with open(lines, "rb") as stdin:
            result = run("tokenize", self.words, "--jsonl", stdin=stdin)
        self.assertEqual(result.code, CHECK_FAILED, result)
        first, bad, last = (json.loads(line) for line in result.out.splitlines())
        self.assertEqual((first, last), ({"ids": [5]}, {"text": "world"}))
        self.assertIn("line 5 ", bad["error"])

    def test_json_files_may_begin_with_a_byte_order_mark(self):
        vocabulary = json.dumps({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2},
                                           "merges": ["a b"]}}).encode()
        path, marked = (self.file(name, mark + vocabulary) for name, mark in
                        (("plain", b""), ("marked", b"\xef\xbb\xbf")))
        for tokenizer in (path, marked):
            self.assertEqual(self.assert_done(run("tokenize", tokenizer, "-p", "ab")).out,
                             b"2\n")

    def test_a_line_is_answered_before_the_next_comes(self):
        with subprocess.Popen([ingot.BINARY, "tokenize", self.words, "--jsonl"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            for _ in range(3):
                process.stdin.write(b'{"text": "hello"}\n')
                process.stdin.flush()
                self.assertEqual(json.loads(process.stdout.readline()), {"ids": [5]})
            process.stdin.write(b'{"ids": [7]}')  # the last line needs no end
            process.stdin.close()
            self.assertEqual(json.loads(process.stdout.readline()), {"text": "world"})
            self.assertEqual(process.wait(timeout=ingot.TIMEOUT_S), DONE)

    def test_usage(self):
        for args in ((), ("-p", "a", "--ids", "1"), ("--ids", "8"), ("--ids", "-1"),
                     ("--ids", "1,x"), ("--jsonl", "-p", "a")):
            self.assert_error(run("tokenize", self.words, *args), USAGE)

    def test_a_model_is_a_tokenizer(self):
        found = run("tokenize", self.model, "-p", "the hand")
        ids = self.one_json(run("run", self.model, "-p", "the hand", "--json", "--max-tokens", "1"))
        framed = run("tokenize", self.model, "-p", "the hand", "--add-special")
        self.assertEqual(framed.out.decode().strip(), ",".join(map(str, ids["prompt_ids"])))
        self.assert_done(found)

    def test_files_that_are_refused(self):
        for name, content, part in (
                ("empty", b"", "is no file of a tokenizer"),
                ("binary", b"\x80\x00\x01", "is no file of a tokenizer"),
                ("object", b"{}", "there is no vocabulary beside the settings"),
                ("broken", b'{"model": {"type": "BPE"}}', "model.vocab is missing"),
                ("merges", b"#version: 0.2\na b\n", "merges need their vocab.json")):
            path = self.file(name, content)
            self.assert_error(run("tokenize", path, "-p", "a"), MODEL, part)
        self.assert_error(run("tokenize", self.folder + "/none", "-p", "a"), MODEL)
        self.assert_error(run("tokenize", self.words, self.words, "-p", "a"), MODEL, "name one")

    def test_long_texts(self):
        text = self.file("long", b"hello " * 400_000)
        ids = self.assert_done(run("tokenize", self.words, "--file", text)).out
        self.assertEqual(ids.count(b"5"), 400_000)

    def test_the_tokenizer_of_a_folder(self):
        folder = os.path.join(SHARED, "goldens", "models", "llama")
        gguf = os.path.join(SHARED, "goldens", "gguf", "llama-f32.gguf")
        if not os.path.isdir(folder):
            self.skipTest(f"no {folder}")
        for args in (("tokenize", folder), ("run", folder, "--max-tokens", "3", "--print-ids")):
            found = self.assert_done(run(*args, "-p", "Once upon a time")).out
            other = [gguf if a == folder else a for a in args]
            self.assertEqual(found, self.assert_done(run(*other, "-p", "Once upon a time")).out)


if __name__ == "__main__":
    ingot.main()
