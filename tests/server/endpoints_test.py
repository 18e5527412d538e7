#!/usr/bin/env python3
"""Tests smaller endpoints, in cases that a transcript (tests/http) cannot express."""
import base64
import math
import os
import struct
import tempfile
import unittest

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
        """Later tokens do not change a token's embedding, and earlier ones do."""
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
        for inputs, code in ((["x"] * 2049, "invalid_value"),
                             ([5] * 1025, "context_length_exceeded"),
                             ("word " * 10_000, "context_length_exceeded"), ([2 ** 31], None),
                             ([-1], None), ([1.5], None), ([], None), (None, None), ([""], None)):
            reply = self.server.post(EMBEDDINGS, {"input": inputs})
            self.assert_error(reply, 400, code, "input")


class History(server.ServerTest):
    """What a template gets to see of earlier turns."""

    TEMPLATE = ("{% for tool in tools or [] %}{{ tool | tojson }}{% endfor %}"
                "{% for m in messages %}[{{ m.role }}:{{ m.content }}"
                "{% if 'tool_calls' in m %}{% for c in m.tool_calls %}<tool_call>"
                "{\"name\": \"{{ c.function.name }}\", \"arguments\": "
                "{{ c.function.arguments | tojson }}}</tool_call>{% endfor %}{% endif %}"
                "{% if 'reasoning_content' in m %}|{{ m.reasoning_content }}{% endif %}]"
                "{% endfor %}{% if add_generation_prompt %}[assistant:{% endif %}")

    @classmethod
    def setUpClass(cls):
        handle, path = tempfile.mkstemp(suffix=".jinja", prefix="ingot-template-")
        cls.addClassCleanup(os.unlink, path)
        with os.fdopen(handle, "w") as f:
            f.write(cls.TEMPLATE)
        cls.args = ("--template", path)
        super().setUpClass()

    def rendered(self, **members):
        message = {"role": "assistant", "content": "yes", **members}
        reply = self.server.post("/apply-template", {
            "messages": [message], "add_generation_prompt": False})
        self.assertEqual(reply.status, 200, reply)
        return reply.json()["prompt"]

    def test_null_is_what_was_not_there(self):
        """As clients write an answer back that they got."""
        self.assertEqual(self.rendered(tool_calls=None, function_call=None, refusal=None,
                                       annotations=[], audio=None), "[assistant:yes]")
        self.assertEqual(self.rendered(tool_calls=[]), "[assistant:yes]")
        self.assertEqual(self.rendered(reasoning_content=None, reasoning="so"),
                         "[assistant:yes|so]")

    def test_arguments_of_calls_are_objects(self):
        def call(arguments):
            return {"id": "1", "type": "function",
                    "function": {"name": "f", "arguments": arguments}}
        for arguments, seen in (('{"a": [1]}', '{"a": [1]}'), ({"a": [1]}, '{"a": [1]}'),
                                ("{broken", '{"input": "{broken"}'), ("5", '{"input": "5"}')):
            self.assertEqual(self.rendered(tool_calls=[call(arguments)]),
                             f'[assistant:yes<tool_call>{{"name": "f", "arguments": {seen}}}'
                             "</tool_call>]")


class Echoes(unittest.TestCase):
    """An echoed prompt is the text that was sent, whatever a tokenizer puts in front."""

    TEXTS = ("Hello there", " Hello", "  two", "caf\u00e9")

    def test_every_golden_model(self):
        root = os.path.join(server.ingot.SHARED, "goldens", "models")
        folders = sorted(os.listdir(root)) if os.path.isdir(root) else []
        if not folders:
            self.skipTest("no golden models")
        tried = 0
        for name in folders:
            running = server.Server(os.path.join(root, name))
            self.addCleanup(running.kill)
            if running.get("/tokenizer_info").status == 200:
                tried += 1
                for text in self.TEXTS:
                    with self.subTest(model=name, text=text):
                        self.check(running, text)
            self.assertEqual(running.stop(), 0)
        self.assertGreater(tried, 0)

    def check(self, running, text):
        body = {"prompt": text, "echo": True, "logprobs": 0, "max_tokens": 0}
        choice = running.post(server.TEXT, body).json()["choices"][0]
        self.assertEqual(choice["text"], text)
        offsets = choice["logprobs"]["text_offset"]
        self.assertEqual(offsets, sorted(offsets))
        # Whole characters are at their offsets, except a space that the tokenizer added.
        tokens = choice["logprobs"]["tokens"]
        for at, token in list(zip(offsets, tokens))[2:]:
            if "\ufffd" not in token:
                self.assertEqual(text[at:at + len(token)], token)
        self.assertLessEqual(offsets[-1], len(text))
        reply = running.post("/tokenize", {"prompt": text, "add_special_tokens": False})
        reply = running.post("/detokenize", {"tokens": reply.json()["tokens"]})
        self.assertEqual(reply.json()["prompt"], text)


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
        self.assertEqual(len(tokens), info["add_bos_token"])

    def test_names_of_special_tokens_are_these_tokens(self):
        text = "<|im_start|>user\nHello<|im_end|>\n"
        for path, body in (("/tokenize", {"prompt": text}),
                           (server.TEXT, {"prompt": text, "max_tokens": 1,
                                          "return_token_ids": True})):
            ids = [self.tokens_of(path, {**body, **extra})
                   for extra in ({}, {"special": True}, {"special": False})]
            self.assertEqual(ids[0], ids[1])
            self.assertEqual(len(self.tokens_of("/tokenize", {"prompt": "<|im_start|>"})), 1)
            self.assertGreater(len(ids[2]), len(ids[0]))
            reply = self.server.post("/detokenize", {"tokens": ids[2]})
            self.assertEqual(reply.json()["prompt"], text)
            self.assert_error(self.server.post(path, {**body, "special": 1}), 400, param="special")

    def test_a_rendered_chat_is_a_prompt_of_the_same_tokens(self):
        chat = {"messages": [{"role": "user", "content": "Hello there"}]}
        text = self.server.post("/apply-template", chat).json()["prompt"]
        wanted = self.tokens_of("/tokenize", chat)
        self.assertEqual(self.tokens_of("/tokenize", {"prompt": text}), wanted)
        self.assertEqual(self.tokens_of(server.TEXT, {"prompt": text, "max_tokens": 1,
                                                      "return_token_ids": True}), wanted)

    def tokens_of(self, path, body):
        found = self.server.post(path, body).json()
        return found["tokens"] if path == "/tokenize" else found["choices"][0]["prompt_token_ids"]

    def test_kinds(self):
        for name, value in (("prompt", 5), ("prompt", [5]), ("add_special_tokens", 1),
                            ("return_token_strs", "yes"), ("special", "yes"), ("model", 5)):
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
