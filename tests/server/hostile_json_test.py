#!/usr/bin/env python3
"""Tests hostile bodies (J01-J10): invalid JSON, and JSON of a wrong form."""
import json

import server
from server import CHAT, TEXT, Wire, post

GOOD = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1}
EMBEDDINGS = "/v1/embeddings"
GOOD_TEXT = {"prompt": "Hi", "max_tokens": 1}

KINDS = {"null": None, "boolean": True, "integer": 1, "real": 1.5, "string": "x", "array": [],
         "object": {}}
REAL = {"integer", "real"}
ANY = set(KINDS) - {"null"}
NONE = set()
# Which kinds of value a member takes; null is as if it were not there. A member that takes some
# kind only with a certain value is listed without it, where KINDS does not have that value.
SHARED = {
    "model": NONE, "stream": {"boolean"}, "stream_options": {"object"},
    "temperature": REAL, "top_p": {"integer"}, "min_p": {"integer"}, "typical_p": {"integer"},
    "top_k": {"integer"}, "repetition_penalty": REAL, "repeat_penalty": REAL,
    "max_new_tokens": {"integer"}, "n_predict": {"integer"}, "presence_penalty": REAL,
    "frequency_penalty": REAL, "seed": {"integer"}, "n": {"integer"}, "stop": {"string", "array"},
    "stop_token_ids": {"array"}, "logit_bias": {"object", "array"}, "min_tokens": {"integer"},
    "ignore_eos": {"boolean"}, "max_tokens": {"integer"}, "max_completion_tokens": {"integer"},
    "priority": {"integer"}, "deadline_ms": REAL, "max_ttft_ms": REAL, "cache_salt": {"string"},
    "user": {"string"}, "return_token_ids": {"boolean"}, "include_stop_str_in_output": {"boolean"},
    "skip_special_tokens": {"boolean"}, "service_tier": {"string"}, "response_format": NONE,
    "dry_multiplier": REAL, "dry_base": REAL, "dry_allowed_length": {"integer"},
    "dry_penalty_last_n": {"integer"}, "dry_sequence_breakers": {"string", "array"},
    "bad_words": {"string", "array"}, "allowed_token_ids": NONE, "top_n_sigma": REAL,
    "mirostat": NONE, "mirostat_tau": REAL, "mirostat_eta": {"integer"},
    "xtc_probability": {"integer"}, "xtc_threshold": {"integer"},
    "guided_json": {"boolean", "object"}, "guided_regex": {"string"}, "guided_choice": NONE,
    "guided_grammar": NONE, "grammar": NONE, "structured_outputs": NONE,
    "json_schema": {"boolean", "object"}, "property_order": NONE,
    "speculation": {"object"},
    "tools": {"array"}, "tool_choice": NONE, "use_beam_search": NONE, "best_of": {"integer"},
}
REFUSED = ("audio", "web_search_options", "logit_processors", "logits_processors",
           "chat_template", "suffix", "prompt_embeds")
IGNORED = ("store", "metadata", "verbosity", "safety_identifier", "prompt_cache_key",
           "prompt_cache_retention", "client_metadata", "spaces_between_special_tokens",
           "from_the_future")
CHAT_ONLY = {"messages": NONE, "logprobs": {"boolean"}, "top_logprobs": NONE, "echo": NONE,
             "reasoning_effort": {"string"}, "add_generation_prompt": {"boolean"},
             "continue_final_message": {"boolean"}, "chat_template_kwargs": {"object"},
             "documents": {"array"}, "parallel_tool_calls": {"boolean"}, "functions": {"array"},
             "function_call": NONE, "enable_thinking": {"boolean"},
             "thinking_budget": {"integer"}, "include_reasoning": {"boolean"},
             "reasoning": {"object"}, "prediction": NONE}
TEXT_ONLY = {"prompt": {"string"}, "logprobs": {"integer"}, "echo": {"boolean"},
             "special": {"boolean"}, "parallel_tool_calls": ANY, "functions": NONE,
             "function_call": NONE, "prediction": ANY}
# These two need enough time for the first token; 1 ms is too short.
SLOW = {"deadline_ms": 60_000, "max_ttft_ms": 60_000}


class Bodies(server.ServerTest):
    def bad(self, body, path=CHAT, param=None):
        reply = self.server.exchange(post(path, body))
        return self.assert_error(reply, 400, param=param)

    def with_content(self, content):
        """A chat whose content is these bytes, with their quotes."""
        return b'{"messages":[{"role":"user","content":' + content + b'}],"max_tokens":1}'

    def test_j01_no_document(self):
        good = json.dumps(GOOD).encode()
        self.assertEqual(self.server.exchange(post(CHAT, good)).status, 200)
        for body in (b"", b" ", b"\r\n\t ", b"null", b"[]", b'"x"', b"{}", b"true", b"1", b"nul",
                     good + b"x", good + good, good + b",", b"\xef\xbb\xbf" + good, b"\0" + good,
                     good + b"\0", b"[" + good + b"]", b"{", b'{"', b'{"a', b'{"a"', b'{"a":',
                     b'{"a":1', b'{"a":1,', b"{,}", b"{1:2}", b"{a:1}", b'{"a" 1}', b'{"a":}'):
            with self.subTest(body=body[:80]):
                self.bad(body)
        with Wire(self.server) as wire:
            for size in range(len(good)):
                self.assert_error(wire.send(post(CHAT, good[:size])).reply(), 400)

    def test_j02_depth(self):
        for opens, closes in ((b"[", b"]"), (b'{"a":', b"}")):
            for depth in (10 ** 6, 265):
                self.bad(b'{"x":' + opens * depth + b"1" + closes * depth + b"}")
                self.bad(b'{"x":' + opens * depth)
        body = b'{"x":' + b"[" * 262 + b"]" * 262 + b"," + json.dumps(GOOD).encode()[1:]
        self.assertEqual(self.server.exchange(post(CHAT, body)).status, 200)

    def test_j03_numbers_and_leniencies(self):
        for value in (b"NaN", b"Infinity", b"-Infinity", b"1e400", b"-1e400", b"01", b"+1", b".5",
                      b"1.", b"0x1", b"1_000", b"1e", b"1e+", b"-", b"--1", b"1.e1", b"'x'",
                      b"True", b"1,", b"/* */1", b"1//", b"undefined", b"0b1", b"1f", b"\xc2\xa01"):
            with self.subTest(value=value):
                self.bad(b'{"temperature":' + value + b"," + json.dumps(GOOD).encode()[1:])
                self.bad(b'{"unknown":' + value + b"," + json.dumps(GOOD).encode()[1:])
        self.bad(json.dumps(GOOD).encode()[:-1] + b",}")
        self.bad(b'{"messages":[{"role":"user","content":"x"},]}')

    def test_j05_invalid_utf8(self):
        for bad in (b"\xc0\x80", b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80", b"\x80",
                    b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98", b"\xf4\x90\x80\x80", b"\xff", b"\xfe"):
            with self.subTest(bad=bad):
                text = b'"a' + bad + b'"'
                self.bad(self.with_content(text))
                for name in (b"model", b"stop", b"user", b"unknown", b"cache_salt"):
                    self.bad(b'{"' + name + b'":' + text + b"," + json.dumps(GOOD).encode()[1:])
                self.bad(b'{"key' + bad + b'":1,' + json.dumps(GOOD).encode()[1:])
                self.bad(b'{"prompt":' + text + b"}", TEXT)

    def test_j06_surrogates_and_nul(self):
        for bad in (rb'"\ud800"', rb'"\udc00"', rb'"\udc00\ud800"', rb'"\ud800x"', rb'"\ud800\n"',
                    rb'"\ud800\ud800"', rb'"\u12"', rb'"\u12g4"', rb'"\x41"', b'"a\nb"', b'"\0"'):
            with self.subTest(bad=bad):
                self.bad(self.with_content(bad))
        self.assertEqual(
            self.server.exchange(post(CHAT, self.with_content(rb'"\ud83d\ude00"'))).status, 200)
        self.assertEqual(
            self.server.exchange(post(CHAT, self.with_content(rb'"a\u0000b"'))).status, 200)
        # It is kept: an echo has it.
        body = b'{"prompt":"a\\u0000b","max_tokens":0,"echo":true}'
        reply = self.server.exchange(post(TEXT, body))
        self.assertEqual(reply.json()["choices"][0]["text"], "a\0b")
        reply = self.server.post(CHAT, {**GOOD, "stop": "a\0b"})
        self.assertEqual(reply.status, 200)
        reply = self.server.post(CHAT, {**GOOD, "model": "ingot-demo\0"})
        self.assertIn(reply.status, (400, 404))

    def test_j07_a_key_twice(self):
        good = json.dumps(GOOD).encode()
        self.bad(b'{"max_tokens":2,' + good[1:])
        self.bad(b'{"messages":[],' + good[1:])
        self.bad(b'{"max\\u005ftokens":2,' + good[1:])  # the same name in other letters
        self.bad(b'{"unknown":{"a":1,"a":2},' + good[1:])
        self.bad(b'{"messages":[{"role":"system","role":"user","content":"x"}]}')

    def test_j08_masses(self):
        good = json.dumps(GOOD).encode()
        keys = 60_000 if server.ingot.SANITIZERS else 600_000
        many = b",".join(b'"k%d":1' % i for i in range(keys))
        ones = b",".join([b"1"] * (keys * 5 // 3))
        for body, statuses in (
                (b"{" + many + b"," + good[1:], (200,)),
                (b'{"stop_token_ids":[' + ones + b"]," + good[1:], (400,)),
                (b'{"unknown":[' + ones + b"]," + good[1:], (200, 400)),
                (b'{"prompt":[' + ones + b"]}", (400,)),
                (b'{"messages":[' + b",".join([b"{}"] * 100_000) + b"]}", (400,)),
                (b'{"logit_bias":{' + many + b"}," + good[1:], (400,)),
                (self.with_content(b'"' + b"a" * (8 * 10 ** 6) + b'"'), (400,)),
                (self.with_content(b'"' + b"\\u0000" * 10 ** 6 + b'"'), (400,)),
                (b'{"stop":"' + b"a" * (8 * 10 ** 6) + b'",' + good[1:], (400,))):
            with self.subTest(body=body[:60]):
                path = TEXT if body.startswith(b'{"prompt"') else CHAT
                reply = self.server.exchange(post(path, body))
                self.assertIn(reply.status, statuses, reply)
                self.assertLess(len(reply.body), 16 << 10)

    def test_j09_unknown_members(self):
        for path, good in ((CHAT, GOOD), (TEXT, GOOD_TEXT)):
            reply = self.server.post(path, {**good, "from_the_future": [1], "nor_this": None})
            self.assertEqual(reply.status, 200, reply)
            said = [(w["param"], w["code"]) for w in reply.json()["warnings"]]
            self.assertIn(("from_the_future", "unknown"), said)
            reply = self.server.post(path, {**good, "stream": True, "from_the_future": 1})
            self.assertEqual(reply.events()[0]["warnings"][0]["param"], "from_the_future")
            self.assertNotIn("warnings", reply.events()[1])
            self.bad({**good, "logit_processors": ["os.system"]}, path, "logit_processors")
            self.assertNotIn("warnings", self.server.post(path, good).json())


class Matrix(server.ServerTest):
    """Every member as every kind of value: taken, or 400 with its name, and never 500."""

    def matrix(self, path, good, members):
        tried = 0
        with Wire(self.server) as wire:
            for name, kinds in members.items():
                for kind, value in KINDS.items():
                    body = {**good, name: value}
                    if name in SLOW and kind in kinds:
                        body[name] = SLOW[name]
                    if kind == "object" and name == "stream_options":
                        body["stream"] = True
                    if name == "max_completion_tokens":
                        body.pop("max_tokens")
                    if wire.socket.fileno() < 0 or tried % 900 == 899:
                        wire.__exit__()
                        wire.__init__(self.server)
                    reply = wire.send(post(path, body)).reply()
                    tried += 1
                    with self.subTest(path=path, name=name, kind=kind):
                        self.check(reply, name, kind, kinds)
        return tried

    def check(self, reply, name, kind, kinds):
        if kind == "null" and name not in ("messages", "prompt", "input"):
            self.assertEqual(reply.status, 200, reply)
        elif kind in kinds:
            self.assertEqual(reply.status, 200, reply)
            if name in IGNORED:
                self.assertIn(name, [w["param"] for w in reply.json()["warnings"]])
        elif name == "model" and kind == "string":
            self.assert_error(reply, 404, "model_not_found", "model")
        else:
            self.assert_error(reply, 400, param=name)

    def test_j10_chats(self):
        members = {**SHARED, **CHAT_ONLY, **dict.fromkeys(REFUSED, NONE),
                   **dict.fromkeys(IGNORED, ANY)}
        self.assertGreater(self.matrix(CHAT, GOOD, members), 60 * 6)

    def test_j10_completions(self):
        members = {**SHARED, **TEXT_ONLY, **dict.fromkeys(REFUSED, NONE),
                   **dict.fromkeys(IGNORED, ANY)}
        self.assertGreater(self.matrix(TEXT, GOOD_TEXT, members), 50 * 6)

    def test_j10_embeddings(self):
        members = {"input": {"string"}, "model": NONE, "encoding_format": NONE,
                   "dimensions": {"integer"}, "user": {"string"}, "priority": {"integer"},
                   "cache_salt": {"string"}, **{name: REAL for name in SLOW},
                   "from_the_future": ANY}
        self.assertGreater(self.matrix(EMBEDDINGS, {"input": "Hi"}, members), 9 * 6)

    def test_j10_inside(self):
        """The same one level down: the outer member is named."""
        def message(**members):
            return {"messages": [{"role": "user", "content": "x", **members}], "max_tokens": 1}
        taken = {"role": NONE, "content": {"string"}, "reasoning": {"string"},
                 "reasoning_content": {"string"}}
        for name, kinds in taken.items():
            for kind, value in KINDS.items():
                reply = self.server.post(CHAT, message(**{name: value}))
                with self.subTest(name=name, kind=kind):
                    is_absent = kind == "null" and name != "role"
                    if kind in kinds or is_absent:
                        self.assertEqual(reply.status, 200, reply)
                    else:
                        self.assert_error(reply, 400, param="messages")
        for kind, value in KINDS.items():
            with self.subTest(kind=kind):
                for body in ({"messages": [value]}, message(content=[value]),
                             message(content=[{"type": value}])):
                    self.assert_error(self.server.post(CHAT, body), 400, param="messages")
                reply = self.server.post(CHAT, message(content=[{"type": "text", "text": value}]))
                self.assertEqual(reply.status, 200 if kind == "string" else 400, reply)
                for name, entry, kinds in (
                        ("stop", [value], {"string", "null"}),
                        ("stop_token_ids", [value], {"integer"}),
                        ("logit_bias", {"5": value}, REAL), ("tools", [value], NONE),
                        ("response_format", {"type": value}, NONE)):
                    reply = self.server.post(CHAT, {**GOOD, name: entry})
                    if kind in kinds:
                        self.assertEqual(reply.status, 200, reply)
                    else:
                        self.assert_error(reply, 400, param=name)
                reply = self.server.post(CHAT, {**GOOD, "stream": True,
                                                "stream_options": {"include_usage": value}})
                self.assertEqual(reply.status, 200 if kind in ("null", "boolean") else 400, reply)
                for prompt in ([value], [[value]], [5, value], ["x", value], [[5], value]):
                    reply = self.server.post(TEXT, {"prompt": prompt, "max_tokens": 1})
                    self.assertIn(reply.status, (200, 400), reply)
                    if reply.status == 400:
                        self.assert_error(reply, 400, param="prompt")


if __name__ == "__main__":
    server.main()
