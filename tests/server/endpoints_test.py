#!/usr/bin/env python3
"""The smaller endpoints, where a transcript cannot say what has to be true."""
import base64
import math
import struct

import server

EMBEDDINGS = "/v1/embeddings"


class Embeddings(server.ServerTest):
    def embedded(self, inputs, **more):
        reply = self.server.post(EMBEDDINGS, {"input": inputs, **more})
        self.assertEqual(reply.status, 200, reply)
        return [entry["embedding"] for entry in reply.json()["data"]]

    def test_base64_holds_the_same_floats(self):
        texts = ["Hello", "What is an ingot?", "word " * 200]
        floats = self.embedded(texts)
        for values, packed in zip(floats, self.embedded(texts, encoding_format="base64")):
            data = base64.b64decode(packed, validate=True)
            self.assertEqual(data, struct.pack(f"<{len(values)}f", *values))
            self.assertTrue(math.isclose(sum(v * v for v in values), 1, abs_tol=1e-6))
        self.assertNotEqual(floats[0], floats[1])

    def test_the_last_token_is_what_is_embedded(self):
        """What stands behind it changes nothing about a token, and what stands before it does."""
        (one,), (two,), (other,) = map(self.embedded, ([[5, 6]], [[5, 6, 7]], [[8, 6]]))
        self.assertEqual(self.embedded([[5, 6]])[0], one)
        self.assertNotEqual(one, two)
        self.assertNotEqual(one, other)

    def test_many_at_once_are_the_same_as_each_alone(self):
        texts = [f"This is text number {i}. " * (i % 7 + 1) for i in range(64)]
        together = self.embedded(texts)
        for i in (0, 13, 63):
            self.assertEqual(self.embedded(texts[i])[0], together[i])

    def test_limits(self):
        for inputs, code in ((["x"] * 257, "invalid_value"),
                             ([5] * 1024, "context_length_exceeded"),
                             ("word " * 10_000, "context_length_exceeded"), ([2 ** 31], None),
                             ([-1], None), ([1.5], None), ([], None), (None, None), ([""], None)):
            reply = self.server.post(EMBEDDINGS, {"input": inputs})
            self.assert_error(reply, 400, code, "input")


class Tokens(server.ServerTest):
    TEXTS = ("", "Hello", " leading", "trailing ", "caf\u00e9 \U0001f600 \u65e5\u672c\n\t", "a\0b",
             "<|im_start|>", "x" * 5000, "\u202e\ufeff")

    def test_texts_come_back(self):
        for text in self.TEXTS:
            with self.subTest(text=text[:20]):
                reply = self.server.post("/tokenize", {"prompt": text, "add_special_tokens": False})
                tokens = reply.json()["tokens"]
                self.assertEqual(reply.json()["count"], len(tokens))
                reply = self.server.post("/detokenize", {"tokens": tokens})
                self.assertEqual(reply.json()["prompt"], text)

    def test_it_is_what_a_completion_reads(self):
        for text in self.TEXTS[1:6]:
            reply = self.server.post(server.TEXT, {"prompt": text, "max_tokens": 1,
                                                   "return_token_ids": True})
            tokens = self.server.post("/tokenize", {"prompt": text}).json()["tokens"]
            self.assertEqual(reply.json()["choices"][0]["prompt_token_ids"], tokens)

    def test_more_than_the_context(self):
        reply = self.server.post("/tokenize", {"prompt": "word " * 100_000})
        self.assertGreater(reply.json()["count"], reply.json()["max_model_len"])

    def test_what_frames_a_text(self):
        info = self.server.get("/tokenizer_info").json()
        self.assertEqual(info["eos_token"], "<|im_end|>")
        self.assertEqual(info["chat_template"], self.server.get("/props").json()["chat_template"])
        tokens = self.server.post("/tokenize", {"prompt": ""}).json()["tokens"]
        self.assertEqual(len(tokens), info["add_bos_token"] + info["add_eos_token"])

    def test_kinds(self):
        for name, value in (("prompt", 5), ("prompt", [5]), ("add_special_tokens", 1),
                            ("return_token_strs", "yes"), ("model", 5)):
            reply = self.server.post("/tokenize", {"prompt": "x", name: value})
            self.assert_error(reply, 400, param=name)
        for value in (None, 5, "x", {}, ["x"], [1.5], [None], [[5]]):
            reply = self.server.post("/detokenize", {"tokens": value})
            self.assert_error(reply, 400, param="tokens")
        for value in (None, [], "x", [5]):
            reply = self.server.post("/apply-template", {"messages": value})
            self.assert_error(reply, 400, param="messages")


if __name__ == "__main__":
    server.main()
