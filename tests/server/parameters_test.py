#!/usr/bin/env python3
"""Tests request parameters (Q01-Q24): each is honoured, refused or reported, never ignored."""
import json
import os
import tempfile
import unittest

import server
from server import CHAT, TEXT, Wire, eventually, head, post

GOOD = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1}
GOOD_TEXT = {"prompt": "Hi", "max_tokens": 1}
CONTEXT = 256


class Parameters(server.ServerTest):
    args = ("--ctx", str(CONTEXT))

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # Tokens that the model's logits have, from what it says to one that it cannot have.
        message = cls.server.post(TEXT, {"prompt": [2 ** 30]}).error()["message"]
        cls.vocab = int(message.split("[0, ")[1].split(")")[0])

    def chat(self, **members):
        return self.server.post(CHAT, {**GOOD, **members})

    def text(self, **members):
        return self.server.post(TEXT, {**GOOD_TEXT, **members})

    def good(self, reply, *warned):
        """A success that warns of exactly these."""
        self.assertEqual(reply.status, 200, reply)
        said = [w["param"] for w in reply.json().get("warnings", [])]
        self.assertEqual(said, list(warned), reply)
        return reply.json()

    def each(self, name, *values, code=None, text=False):
        """400 naming the parameter, for each value."""
        for value in values:
            with self.subTest(name=name, value=str(value)[:60]):
                ask = self.text if text else self.chat
                self.assert_error(ask(**{name: value}), 400, code, name)

    def raw(self, name, *values):
        """As above, for values that Python does not write."""
        for value in values:
            with self.subTest(name=name, value=value):
                body = json.dumps(GOOD)[:-1].replace(', "max_tokens": 1', "")
                reply = self.server.exchange(post(CHAT, f'{body}, "{name}": {value}}}'.encode()))
                self.assert_error(reply, 400)

    def test_q01_messages(self):
        self.each("messages", None, [], "Hi", 5, {}, [None], [{}], ["Hi"], [[]],
                  [{"role": "user", "content": "x"}] * 4097)
        self.assert_error(self.server.post(CHAT, {"max_tokens": 1}), 400, param="messages")

    def test_q02_roles(self):
        def said(*roles):
            return [{"role": role, "content": "x"} for role in roles]
        self.each("messages", *[said(role) for role in ("wizard", "", "x" * 10 ** 6, 5, None,
                                                        "User",
                                                        ["user"], "user ")])
        self.each("messages", [{"content": "x"}])
        for roles in (("assistant", "user"), ("system", "system", "user"), ("developer", "user"),
                      ("user", "user"), ("user", "assistant", "assistant", "user")):
            reply = self.chat(messages=said(*roles))
            # The template decides about the order.
            self.assertIn(reply.status, (200, 400), reply)
            if reply.status == 400:
                self.assert_error(reply, 400)
        reply = self.chat(messages=[*said("user"), {"role": "tool", "content": "x"}])
        self.assertIn(reply.status, (200, 400), reply)

    def test_q03_contents(self):
        def content(value):
            return [{"role": "user", "content": value}]
        url = {"type": "image_url"}
        self.each("messages", *map(content, (
            5, [], {}, True, [5], ["x"], [{}], [{"type": "video"}], [{"type": "text"}],
            [{"type": "text", "text": 5}], [{**url, "image_url": {"url": "http://127.0.0.1/x"}}],
            [{**url, "image_url": {"url": "file:///etc/passwd"}}],
            [{**url, "image_url": {"url": "data:image/png;base64,AAAA"}}],
            [{"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}])))
        two = content([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])
        self.assertEqual(self.good(self.chat(messages=two))["usage"],
                         self.good(self.chat(messages=content("a\nb")))["usage"])

    def test_q04_prompts(self):
        self.each("prompt", "", [], None, 5, {}, True, [-1], [self.vocab], [2 ** 31], [2 ** 63],
                  [1.5], ["x"] * 257, ["x"] * 10 ** 5, ["x", 5], [5, "x"], [[5], "x"],
                  ["x", [5]], [""], [[]], [[[5]]], [None], [True], text=True)
        self.assertEqual(len(self.good(self.text(prompt=["x"] * 16))["choices"]), 16)
        self.good(self.text(prompt=[5, 6.0, 7]))
        self.good(self.text(prompt=[[5], [6, 7]]))
        self.good(self.text(prompt=[self.vocab - 1]))

    def test_q05_max_tokens(self):
        self.each("max_tokens", 0, -2, 1.5, "5", 2 ** 31 + 1, 2 ** 63, 2 ** 64, -2 ** 63, True, [])
        self.each("max_completion_tokens", 0, -2, 2 ** 64)
        self.each("max_tokens", 0, -2, text=True)
        self.raw("max_tokens", "1e400", "-0.5", "5e-1")
        self.good(self.chat(max_tokens=10 ** 9, stop=["e"]), "max_tokens")
        self.good(self.chat(max_tokens=2 ** 31 - 1, stop=["e"]), "max_tokens")
        self.good(self.chat(max_tokens=5, max_completion_tokens=5))
        self.assert_error(self.chat(max_tokens=5, max_completion_tokens=6), 400)
        self.assertEqual(self.good(self.text(max_tokens=0, echo=True))["choices"][0]["text"], "Hi")
        # Sixteen where a completion does not say; what there is room for where a chat does not.
        reply = self.good(self.server.post(TEXT, {"prompt": "Hi", "ignore_eos": True}))
        self.assertEqual(reply["usage"]["completion_tokens"], 16)
        for limit in (-1, -1.0, None):
            for reply in (self.text(max_tokens=limit, ignore_eos=True),
                          self.chat(max_tokens=limit, ignore_eos=True)):
                self.assertEqual(self.good(reply)["usage"]["total_tokens"], CONTEXT)
        self.good(self.chat(max_tokens=None, max_completion_tokens=1))

    def test_q06_room(self):
        for tokens, status in ((CONTEXT + 1, 400), (CONTEXT, 400), (CONTEXT - 1, 200),
                               (CONTEXT - 2, 200), (900_000, 400)):
            for stream in (False, True):
                with self.subTest(tokens=tokens, stream=stream):
                    reply = self.text(prompt=[5] * tokens, stream=stream)
                    self.assertEqual(reply.status, status, reply)
                    if status == 200:
                        continue
                    error = self.assert_error(reply, 400, "context_length_exceeded").error()
                    self.assertEqual(error["n_ctx"], CONTEXT)
                    self.assertEqual(error["n_prompt_tokens"], tokens)
        reply = self.text(prompt=[5] * (CONTEXT - 3), max_tokens=10, ignore_eos=True)
        self.assertEqual(self.good(reply, "max_tokens")["usage"]["completion_tokens"], 3)
        long = [{"role": "user", "content": "word " * 5000}]
        reply = self.chat(messages=long, stream=True)
        self.assert_error(reply, 400, "context_length_exceeded", "messages")
        reply = self.text(prompt="word " * 5000)
        self.assert_error(reply, 400, "context_length_exceeded", "prompt")
        # Refused without being encoded, so its number of tokens is unknown.
        reply = self.text(prompt="word " * 100_000)
        error = self.assert_error(reply, 400, "context_length_exceeded", "prompt").error()
        self.assertRegex(error["message"], rf"^This model's maximum context length is {CONTEXT} "
                         r"tokens, the prompt has \d+ or more:")
        self.assertEqual((error["n_ctx"], error.get("n_prompt_tokens")), (CONTEXT, None))

    def test_q07_n(self):
        self.each("n", 0, -1, 129, 10 ** 6, 2 ** 31, 2 ** 64, 1.5, 1e300)
        self.assertEqual(len(self.good(self.chat(n=2.0))["choices"]), 2)
        self.each("n", 0, -1, 129, 10 ** 6, text=True)
        self.each("best_of", 0, 2, text=True)
        self.each("best_of", 0, 2)
        self.good(self.text(best_of=None))
        self.each("use_beam_search", True)
        self.good(self.text(best_of=1, use_beam_search=False, service_tier="default"))
        self.good(self.chat(best_of=1, service_tier="default"))
        self.good(self.chat(service_tier="flex"), "service_tier")
        self.each("service_tier", "x" * 65)
        choices = self.good(self.chat(n=16, temperature=1, seed=7, max_tokens=4))["choices"]
        self.assertEqual([c["index"] for c in choices], list(range(16)))
        self.assertEqual(len(self.good(self.text(prompt=["a", "b"], n=3))["choices"]), 6)

    def test_q08_temperature(self):
        self.each("temperature", -0.1, 100.01, 1e38, -1e-300)
        self.raw("temperature", "1e999", "-1e999", "NaN", "Infinity")
        def drawn(t):
            return self.good(self.chat(temperature=t, max_tokens=8))["choices"][0]["message"]
        for tiny in (1e-10, 1e-320, 0.0):
            self.assertEqual(drawn(tiny), drawn(0), tiny)
        for t in (1e-4, 1e-6, 2, 100):
            self.assertTrue(drawn(t)["content"], t)

    def test_q09_truncation(self):
        self.each("top_p", -1, 1.0001, 2)
        self.each("top_k", -2, 2 ** 31, 2 ** 64, 1.5)
        self.each("min_p", -0.1, 1.1, 2)
        self.each("typical_p", -0.1, 1.1)
        for members in ({"top_p": 1e-300}, {"top_p": 1e-7}, {"top_k": 0}, {"top_k": -1},
                        {"top_k": 2 ** 31 - 1}, {"min_p": 1}, {"typical_p": 1e-30}):
            with self.subTest(members=members):
                reply = self.chat(temperature=1, max_tokens=4, **members)
                self.assertIn(reply.status, (200, 400), reply)
                if reply.status == 200:
                    self.assertTrue(reply.json()["choices"][0]["message"]["content"])
        greedy = self.good(self.chat(temperature=0, max_tokens=8))["choices"]
        self.assertEqual(self.good(self.chat(temperature=2, top_k=1, max_tokens=8))["choices"],
                         greedy)

    def test_q10_penalties(self):
        for name in ("presence_penalty", "frequency_penalty"):
            self.each(name, -2.01, 2.01, 1e30, -1e30)
            for value in (-2, 2, 0):
                self.good(self.chat(**{name: value}))
        self.each("repetition_penalty", 0, -1, 1e-40, 1e38)

    def test_q10_aliases(self):
        """An alias sets its field, and contradicts it if the values differ."""
        self.each("repeat_penalty", 0, -1, 1e38, "1")
        def said(**members):
            reply = self.text(prompt=[7, 7], temperature=0, logit_bias={"7": 50},
                              return_token_ids=True, **members)
            return self.good(reply)["choices"]
        self.assertEqual(said()[0]["token_ids"], [7])
        self.assertNotEqual(said(repeat_penalty=100)[0]["token_ids"], [7])
        self.assertEqual(said(repeat_penalty=100), said(repetition_penalty=100))
        self.good(self.chat(repeat_penalty=2, repetition_penalty=2.0))
        self.assert_error(self.chat(repeat_penalty=2, repetition_penalty=1), 400,
                          param="repeat_penalty")
        for name in ("max_new_tokens", "n_predict"):
            used = self.good(self.chat(max_tokens=None, ignore_eos=True, **{name: 3}))["usage"]
            self.assertEqual(used["completion_tokens"], 3)
            self.assert_error(self.text(max_tokens=2, **{name: 3}), 400, param=name)

    def test_q11_logit_bias(self):
        self.each("logit_bias", {str(self.vocab): 1}, {"-1": 1}, {"abc": 1}, {"1e3": 1}, {"": 1},
                  {"01": 1}, {" 1": 1}, {"1.0": 1}, {str(2 ** 40): 1}, {"5": 101}, {"5": -101},
                  {"5": 1e308}, {"5": None}, {"5": "1"}, {"5": True}, {"5": {}}, [5], [[5]],
                  [[5, 1, 1]], [["5", 1]], [[5, 1], [5, 1]], [[self.vocab, 1]],
                  {str(i): 1 for i in range(10 ** 5)})
        self.good(self.chat(logit_bias={}))
        self.good(self.chat(logit_bias={"5": -100, "6": 100}))
        def drawn(bias):
            reply = self.text(prompt="Hello", logit_bias=bias, return_token_ids=True, temperature=0)
            return self.good(reply)["choices"][0]["token_ids"]
        self.assertEqual(drawn({"7": 100}), [7])
        self.assertEqual(drawn([[7, 100]]), [7])
        (usual,) = drawn({})
        self.assertNotEqual(drawn({str(usual): False}), [usual])

    def test_q11_logit_bias_of_a_text(self):
        for text in "abcdefghijklmnopqrstuvwxyz":
            tokens = self.server.post("/tokenize", {"prompt": text, "add_special_tokens": False})
            ids = tokens.json()["tokens"]
            if len(ids) != 1:
                self.each("logit_bias", {text: 1})
                continue
            forced = self.good(self.text(logit_bias={text: 100}, return_token_ids=True,
                                         temperature=0))
            self.assertEqual(forced["choices"][0]["token_ids"], ids)
            self.each("logit_bias", {text: 1, str(ids[0]): 1})

    def test_q28_masks(self):
        self.each("allowed_token_ids", [], [-1], [5, self.vocab], [1.5], ["5"], 5, {}, [None])
        self.each("bad_words", "", [""], ["x", ""], [5], 5, {}, [None], ["x" * 129], ["x"] * 257)
        ids = self.good(self.text(allowed_token_ids=[9, 7, 9], temperature=1, max_tokens=20,
                                  return_token_ids=True))["choices"][0]["token_ids"]
        self.assertEqual(len(ids), 20)
        self.assertLessEqual(set(ids), {7, 9})
        self.good(self.chat(bad_words=["bad", "a phrase"]))
        self.good(self.chat(bad_words=[]))

    def test_q28_stages(self):
        for name, low, high in (("dry_multiplier", 0, 100), ("dry_base", 1, 10),
                                ("dry_allowed_length", 0, 50), ("top_n_sigma", -1, 1000),
                                ("mirostat_tau", 0, 100), ("mirostat_eta", 0, 1),
                                ("xtc_probability", 0, 1), ("xtc_threshold", 0, 1)):
            self.each(name, low - 1, high + 1, -1e300, 1e300, "1", True, [], {})
            for value in (low, high):
                self.good(self.chat(**{name: value, "mirostat": 2, "temperature": 1}))
        self.each("dry_penalty_last_n", -2, 2 ** 31, 1.5)
        self.each("dry_sequence_breakers", [""], ["x" * 41], ["x"] * 33, 5)
        self.each("mirostat", 1, -1, 3, 1.5, "2")
        def said(**members):
            return self.good(self.text(temperature=1, seed=3, max_tokens=16, **members))["choices"]
        for members in ({"xtc_probability": 0.5, "xtc_threshold": 0.01}, {"mirostat": 2},
                        {"dry_multiplier": 2, "dry_allowed_length": 1}):
            self.assertEqual(said(**members), said(**members), members)

    def test_q12_stop(self):
        self.each("stop", ["x"] * 65, ["x"] * 10 ** 4, ["x"] * 500_000, "x" * 10 ** 6,
                  ["x" * 1025], 5, {}, [5])
        for stop in ("", [""], [None], ["zzz", "", None], [""] * 1000):
            self.good(self.text(stop=stop), "stop")
            self.good(self.chat(stop=stop), "stop")
        whole = self.good(self.text(prompt="Hello", max_tokens=12, temperature=0))
        text = whole["choices"][0]["text"]
        self.assertGreater(len(text), 8)
        # Every piece of what it says stops it there, wherever tokens end.
        for begin in range(1, len(text) - 1):
            for size in (1, 2, 5):
                stop = text[begin:begin + size]
                for stream in (False, True):
                    reply = self.text(prompt="Hello", max_tokens=12, temperature=0, stop=stop,
                                      stream=stream)
                    if stream:
                        chunks = [e["choices"][0] for e in reply.events()[:-1]]
                        said = "".join(c["text"] for c in chunks)
                        finish = chunks[-1]["finish_reason"]
                    else:
                        choice = self.good(reply)["choices"][0]
                        said, finish = choice["text"], choice["finish_reason"]
                    self.assertEqual(said, text[:text.index(stop)], (stop, stream))
                    self.assertEqual(finish, "stop")
        for stop in (["x" * 1024], ["aa", "aaa", "a" * 50], [text + "more"], ["\u20ac\U0001f600"],
                     None, []):
            self.assertEqual(self.text(prompt="Hello", temperature=0, max_tokens=12,
                                       stop=stop).status, 200, stop)

    def test_q13_stop_token_ids(self):
        self.good(self.text(stop_token_ids=[5.0]))
        self.each("stop_token_ids", [-1], [self.vocab], [2 ** 31], [2 ** 64], [1.5], ["5"],
                  [5] * 1025, list(range(900_000)), 5, {}, [None])
        one = self.good(self.text(prompt="Hello", temperature=0, max_tokens=3,
                                  return_token_ids=True))["choices"][0]["token_ids"]
        ended = self.good(self.text(prompt="Hello", temperature=0, max_tokens=3,
                                    stop_token_ids=[one[1]]))["choices"][0]
        self.assertEqual(ended["finish_reason"], "stop")
        until = self.good(self.text(prompt="Hello", temperature=0,
                                    max_tokens=one.index(one[1]) + 1))["choices"][0]
        for stream in (False, True):
            reply = self.text(prompt="Hello", temperature=0, max_tokens=3, stop_token_ids=[one[1]],
                              include_stop_str_in_output=True, stream=stream)
            chunks = reply.events()[:-1] if stream else [self.good(reply)]
            said = "".join(chunk["choices"][0]["text"] for chunk in chunks)
            self.assertEqual(said, until["text"])

    def test_q14_logprobs(self):
        self.assert_error(self.chat(logprobs=True, top_logprobs=21), 400, param="top_logprobs")
        self.assert_error(self.chat(logprobs=True, top_logprobs=-1), 400, param="top_logprobs")
        self.assert_error(self.chat(top_logprobs=2), 400, param="top_logprobs")
        self.assert_error(self.chat(logprobs=False, top_logprobs=2), 400, param="top_logprobs")
        self.each("logprobs", 21, -1, 10 ** 6, 2 ** 64, 1.5, text=True)
        for count in (0, 5, 6, 20):
            reply = self.good(self.text(logprobs=count, max_tokens=3, temperature=0))
            lists = reply["choices"][0]["logprobs"]
            tokens = reply["usage"]["completion_tokens"]
            self.assertEqual({k: len(v) for k, v in lists.items()}, dict.fromkeys(lists, tokens))
        reply = self.good(self.text(prompt="Hello there", echo=True, max_tokens=0, logprobs=1))
        lists = reply["choices"][0]["logprobs"]
        self.assertIsNone(lists["token_logprobs"][0])
        self.assertEqual(len(lists["tokens"]), reply["usage"]["prompt_tokens"])
        self.assertEqual("".join(lists["tokens"]), "Hello there")

    def test_q14_a_token_is_among_its_own_top_logprobs(self):
        for count in (0, 1):
            reply = self.text(logprobs=count, temperature=2, seed=5, max_tokens=16, echo=True)
            found = self.good(reply)["choices"][0]["logprobs"]
            rows = list(zip(found["tokens"], found["token_logprobs"], found["top_logprobs"]))
            self.assertEqual(rows[0][1:], (None, None))
            for token, logprob, top in rows[1:]:
                self.assertEqual(top[token], logprob)
                self.assertLessEqual(len(top), count + 1)
                self.assertGreaterEqual(max(top.values()), logprob)
            self.assertTrue(count == 0 or any(len(top) == 2 for _, _, top in rows[1:]))

    def test_q14_an_echo_has_the_scores_of_all_tokens_that_were_asked_for(self):
        """Harnesses cut one off, also where the model would end the text."""
        end = self.server.get("/tokenizer_info").json()["eos_token"]
        ids = [i for i in range(self.vocab) if self.server.post(
            "/detokenize", {"tokens": [i]}).json()["prompt"] == end][:1]
        self.assertEqual(len(ids), 1)
        body = {"prompt": [5, 6, 7], "echo": True, "logprobs": 1, "logit_bias": {str(ids[0]): 100}}
        for most, count in ((0, 3), (1, 4)):
            choice = self.good(self.text(**body, max_tokens=most))["choices"][0]
            self.assertEqual(len(choice["logprobs"]["tokens"]), count)
            self.assertEqual(choice["finish_reason"], "length")
        self.assertEqual(choice["logprobs"]["tokens"][-1], end)
        self.assertEqual(choice["logprobs"]["text_offset"][-1], len(choice["text"]))

    def test_q15_an_infinite_logprob_is_a_number(self):
        # With one token left all others are impossible; no JSON may say -inf for them.
        reply = self.text(logprobs=20, temperature=1, top_k=1, logit_bias={"7": 100}, max_tokens=2)
        self.assertNotIn(b"inf", reply.body.lower())
        self.assertNotIn(b"nan", reply.body.lower())
        for best in self.good(reply)["choices"][0]["logprobs"]["top_logprobs"]:
            self.assertTrue(all(-10_000 < value <= 0 for value in best.values()), best)

    def test_q16_seed(self):
        def ask(seed):
            found = self.good(self.chat(seed=seed, n=2, temperature=1.5, max_tokens=12))
            return found["seed"], found["choices"]
        for seed in (-2, 0, 2 ** 63, 2 ** 64 - 1, -2 ** 63):
            self.assertEqual(ask(seed), ask(seed), seed)
            self.assertEqual(ask(seed)[0], seed)
        self.assertEqual(ask(5.0), ask(5))
        for seed in (-1, None):
            drawn, choices = ask(seed)
            self.assertIn(drawn, range(2 ** 53))
            self.assertEqual(ask(drawn), (drawn, choices))
            self.assertNotEqual(ask(seed)[0], drawn)
        self.each("seed", 2 ** 64, -2 ** 63 - 1, 1.5, 1e18, "1", True)

    def test_q17_streams(self):
        self.each("stream", "true", 1, [], {})
        self.good(self.chat(stream_options={"include_usage": True}), "stream_options")
        reply = self.chat(stream=True, stream_options={"include_usage": True})
        *chunks, usage, done = reply.events()
        self.assertEqual(done, "data: [DONE]")
        self.assertEqual((usage["choices"], usage["usage"]["completion_tokens"]), ([], 1))
        self.assertTrue(all(chunk["usage"] is None for chunk in chunks))
        for chunk in self.chat(stream=True).events()[:-1]:
            self.assertNotIn("usage", chunk)

    def test_q17_usage_in_each_chunk(self):
        """Counts of all choices so far, which end at the counts of the whole response."""
        options = {"include_usage": True, "continuous_usage_stats": True}
        reply = self.text(prompt=[[5, 6], [7]], n=2, max_tokens=6, ignore_eos=True, stream=True,
                          stream_options=options)
        used = [chunk["usage"] for chunk in reply.events()[:-1]]
        counts = [usage["completion_tokens"] for usage in used]
        self.assertEqual(counts, sorted(counts))
        self.assertEqual(counts[-1], 24)
        for usage in used:
            self.assertEqual(usage["prompt_tokens"], 3)
            self.assertEqual(usage["total_tokens"], 3 + usage["completion_tokens"])
        self.good(self.chat(stream_options=options), "stream_options")

    def test_q19_models(self):
        for name in ("gpt-4", "", "x" * 10 ** 6, "../x", "/etc/passwd", "INGOT-DEMO",
                     "ingot-demo "):
            with self.subTest(name=name[:20]):
                reply = self.chat(model=name)
                self.assert_error(reply, 404, "model_not_found", "model")
                self.assertLess(len(reply.body), 1000)
        self.good(self.chat(model="ingot-demo"))
        self.good(self.chat(model=None))

    def test_q20_users_and_salts(self):
        for name in ("user", "cache_salt"):
            self.each(name, "x" * 257, "x" * 10 ** 6, 5, [], {}, True)
            for value in ("", "x" * 256):
                reply = self.chat(**{name: value})
                self.assertEqual(reply.status, 200, reply)
                warned = [w["param"] for w in reply.json().get("warnings", [])]
                self.assertEqual(warned, ["user"] if name == "user" else [])

    def test_q21_all_at_once(self):
        body = {"prompt": "Hello", "n": 16, "stream": True, "logprobs": 5, "stop": ["zzz"],
                "temperature": 1, "seed": 3, "max_tokens": 12, "return_token_ids": True,
                "stream_options": {"include_usage": True}}
        *chunks, usage, done = self.server.post(TEXT, body).events()
        self.assertEqual(done, "data: [DONE]")
        choices = [{"text": "", "ids": [], "tokens": 0, "finish": []} for _ in range(16)]
        for chunk in chunks:
            (one,) = chunk["choices"]
            choice = choices[one["index"]]
            choice["text"] += one["text"]
            choice["ids"] += one["token_ids"]
            choice["tokens"] += len(one["logprobs"]["tokens"])
            choice["finish"] += [one["finish_reason"]] if one["finish_reason"] else []
        whole = self.good(self.server.post(TEXT, {**body, "stream": False,
                                                  "stream_options": None}))["choices"]
        for choice, same in zip(choices, whole):
            self.assertEqual((choice["text"], choice["ids"]), (same["text"], same["token_ids"]))
            self.assertEqual(choice["tokens"], len(choice["ids"]))
            self.assertEqual(choice["finish"], [same["finish_reason"]])
        self.assertEqual(usage["usage"]["completion_tokens"], sum(len(c["ids"]) for c in choices))
        self.assertGreater(len({c["text"] for c in choices}), 1)

    def test_q22_special_and_broken_texts(self):
        # Bytes of a character's middle, again and again: U+FFFD, and an end.
        tokens = {}
        for i in range(min(self.vocab, 512)):
            reply = self.text(prompt="x", logit_bias={str(i): 100}, max_tokens=3, temperature=0,
                              ignore_eos=True, logprobs=0)
            lists = self.good(reply)["choices"][0]["logprobs"]
            if lists["tokens"][:1] == ["\ufffd"]:
                tokens[i] = reply
        for i, reply in list(tokens.items())[:3]:
            text = reply.json()["choices"][0]["text"]
            self.assertLessEqual(len(text), 16)
            stream = self.server.post(TEXT, {"prompt": "x", "logit_bias": {str(i): 100},
                                             "max_tokens": 3, "temperature": 0, "stream": True})
            said = "".join(e["choices"][0]["text"] for e in stream.events()[:-1])
            self.assertEqual(said, text)

    def test_q22_the_end_at_once(self):
        """A token that ends the text, drawn first: an empty answer that stopped."""
        found = 0
        for i in (*range(64), *range(self.vocab - 64, self.vocab)):
            reply = self.text(logit_bias={str(i): 100}, temperature=0, max_tokens=2)
            if reply.status != 200:  # a row that only pads the matrix
                continue
            choice = reply.json()["choices"][0]
            if choice["finish_reason"] == "stop":
                self.assertEqual(choice["text"], "")
                found += 1
        self.assertGreater(found, 0)

    def test_q23_a_character_cut_in_the_middle(self):
        for size in range(1, 8):
            reply = self.text(prompt="\U0001f600\U0001f600", max_tokens=size, stream=True,
                              temperature=1, seed=size)
            for event in reply.events()[:-1]:
                event["choices"][0]["text"].encode("utf-8")  # no lone surrogate either

    def test_q25_what_the_template_does_not_know_is_reported(self):
        reply = self.chat(chat_template_kwargs={"enable_thinking": False})
        self.good(reply, "chat_template_kwargs.enable_thinking")
        many = {f"name_{i}": i for i in range(100_000)}
        self.assert_error(self.chat(chat_template_kwargs=many), 400, param="chat_template_kwargs")

    def test_q26_ids_of_a_streams_prompt(self):
        whole = self.good(self.chat(return_token_ids=True))
        reply = self.chat(return_token_ids=True, stream=True)
        events = [e for e in reply.events() if isinstance(e, dict)]
        self.assertEqual(events[0]["prompt_token_ids"], whole["prompt_token_ids"])
        self.assertFalse(any("prompt_token_ids" in e for e in events[1:]))

    def test_q27_what_had_its_time_is_not_to_be_sent_again(self):
        self.good(self.text(max_tokens=64, ignore_eos=True))  # it knows its rates
        reply = self.text(deadline_ms=1, max_tokens=CONTEXT - 10, ignore_eos=True)
        # Refused at once, or too late for that: the time was over when the engine looked.
        late = self.assert_error(reply, 503).error()["code"] == "timeout"
        self.assert_error(reply, 503, param=None if late else "deadline_ms")
        self.assertEqual(reply.field("x-should-retry"), "false")
        self.assertIsNone(reply.field("Retry-After"))

    def test_q18_tools(self):
        tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
        self.each("tools", [tool] * 129, [tool] * 2, [{}], "x", {}, 5)
        named = {"type": "function", "function": {"name": "f"}}
        self.each("tool_choice", "required", "x", named, 5)
        self.each("response_format", {"type": "x"}, {}, "json", {"type": "json_schema"},
                  {"type": "json_schema", "json_schema": {"name": "x", "schema": "{"}})
        for kind in ("text", "json_object"):
            self.good(self.chat(response_format={"type": kind}))
        self.good(self.chat(response_format={"type": "json_schema",
                                             "json_schema": {"name": "x", "schema": {}}}))
        self.good(self.chat(tools=[tool]))
        self.good(self.chat(tools=[]), "tools")
        self.good(self.chat(tool_choice="none"), "tool_choice")
        self.good(self.chat(tools=[tool], tool_choice="none"))

    def test_q28_errors_name_the_entry(self):
        turn = {"role": "user", "content": "x"}
        many = ["x"] * 17
        for path, members, param in (
                (TEXT, {"prompt": [5, 6, "x"]}, "prompt[2]"),
                (TEXT, {"prompt": [[5], [5], [5, 6, -1]]}, "prompt[2][2]"),
                (TEXT, {"prompt": [*many, ""]}, "prompt[17]"),
                (TEXT, {"prompt": [*many, "word " * 5000]}, "prompt[17]"),
                (TEXT, {"prompt": [*many, 5]}, "prompt[17]"),
                ("/v1/embeddings", {"input": [*many, None]}, "input[17]"),
                ("/v1/embeddings", {"input": [*many, "word " * 5000]}, "input[17]"),
                (TEXT, {"stop": ["a", "", "b", 5]}, "stop[3]"),
                (TEXT, {"stop": ["a", "x" * 1025]}, "stop[1]"),
                (TEXT, {"stop_token_ids": [1, 2.5]}, "stop_token_ids[1]"),
                (TEXT, {"stop_token_ids": [1, self.vocab]}, "stop_token_ids[1]"),
                (TEXT, {"logit_bias": {"5": 1, "50257000": 1}}, 'logit_bias["50257000"]'),
                (TEXT, {"logit_bias": {"5": 1, "6": 101}}, 'logit_bias["6"]'),
                (TEXT, {"logit_bias": {"5": 1, 'a"]b': 1}}, 'logit_bias["a"]b"]'),
                (TEXT, {"logit_bias": [[5, 1], [6, "x"]]}, "logit_bias[1][1]"),
                (CHAT, {"messages": [turn, {"role": "user"}]}, "messages[1]"),
                (CHAT, {"messages": [turn, turn, {"role": "user", "content": [
                    {"type": "text", "text": "x"}, {"type": "image_url"}]}]},
                 "messages[2].content[1]"),
                (CHAT, {"messages": [turn], "chat_template_kwargs": {"tokenize": True}},
                 'chat_template_kwargs["tokenize"]'),
                ("/detokenize", {"tokens": [5, 6, -1]}, "tokens[2]")):
            with self.subTest(param=param):
                body = {"prompt": "x", **members} if path == TEXT else members
                error = self.assert_error(self.server.post(path, body), 400).error()
                self.assertEqual(error["param"], param)
                self.assertTrue(error["message"].startswith(param) or
                                error["code"] == "context_length_exceeded", error)


class Pools(server.ServerTest):
    """The context is larger than the memory for keys and values."""
    args = ("--ctx", "2048", "--kv-tokens", "2048", "--sequences", "2")

    def test_q06_a_prompt_as_large_as_the_pool(self):
        reply = self.server.post(TEXT, {"prompt": [5] * 2047, "max_tokens": 1})
        self.assertEqual(reply.status, 200, reply)
        reply = self.server.post(TEXT, {"prompt": [5] * 2048, "max_tokens": 1})
        self.assert_error(reply, 400, "context_length_exceeded")


class Queues(server.ServerTest):
    args = ("--queue", "4", "--sequences", "1")

    def test_q07_choices_wait_like_requests(self):
        """Four wait or run, and there is room for five."""
        long = {**GOOD_TEXT, "n": 4, "stream": True, "max_tokens": 1000, "ignore_eos": True}
        with server.Wire(self.server, narrow=True) as wire:
            wire.send(post(TEXT, long)).until(b"data: ")
            for stream in (False, True):
                reply = self.server.post(TEXT, {**GOOD_TEXT, "n": 4, "stream": stream})
                self.assert_error(reply, 429, "server_overloaded")
                self.assertEqual(reply.field("Retry-After"), "1")
        self.assert_quiet()

    def test_more_prompts_than_the_queue_holds(self):
        """They wait outside the queue, and each gives the text that it gives alone."""
        prompts = [f"Number {i % 7}" for i in range(256)]
        body = {"max_tokens": 3, "temperature": 0, "ignore_eos": True}
        alone = [self.server.post(TEXT, {**body, "prompt": prompts[i]}).json()["choices"][0]["text"]
                 for i in range(7)]
        reply = self.server.post(TEXT, {**body, "prompt": prompts})
        self.assertEqual(reply.status, 200, reply)
        choices = reply.json()["choices"]
        self.assertEqual([c["index"] for c in choices], list(range(256)))
        self.assertEqual([c["text"] for c in choices], [alone[i % 7] for i in range(256)])
        self.assertEqual(reply.json()["usage"]["completion_tokens"], 3 * 256)
        chunks = self.server.post(TEXT, {**body, "prompt": prompts, "stream": True}).events()[:-1]
        texts = [""] * 256
        for chunk in chunks:
            for choice in chunk["choices"]:
                texts[choice["index"]] += choice["text"]
        self.assertEqual(texts, [alone[i % 7] for i in range(256)])
        self.assert_quiet()

    def test_2048_inputs(self):
        reply = self.server.post("/v1/embeddings", {"input": ["a", "b"] * 1024})
        self.assertEqual(reply.status, 200, reply)
        data = reply.json()["data"]
        self.assertEqual(len(data), 2048)
        self.assertEqual(data[2046]["embedding"], data[0]["embedding"])
        self.assertNotEqual(data[1]["embedding"], data[0]["embedding"])
        self.assert_quiet()

    def test_many_prompts_leave_room_for_others(self):
        """At most a quarter of the queue is theirs; when their client leaves, all of them end."""
        long = {"prompt": ["x"] * 256, "max_tokens": 1000, "ignore_eos": True, "stream": True}
        with server.Wire(self.server, narrow=True) as wire:
            wire.send(post(TEXT, long)).until(b"data: ")
            # An unread stream pauses, so that the other request can run.
            reply = self.server.post(TEXT, GOOD_TEXT)
            self.assertEqual(reply.status, 200, reply)
        self.assert_quiet()

    @unittest.skipIf(server.ingot.SANITIZERS, "sanitizers need memory of their own")
    def test_many_prompts_share_the_other_fields(self):
        """Prompts that wait have no copies of some 100 KB of texts and biases."""
        long = {"prompt": ["x"] * 256, "max_tokens": 1000, "ignore_eos": True, "stream": True,
                "stop": [f"{i:04}" + "q" * 1020 for i in range(64)],
                "bad_words": [f"{i:04}" + "q" * 124 for i in range(256)],
                "logit_bias": {str(i): 0 for i in range(1024)}}
        before = self.server.resident_bytes()
        with server.Wire(self.server, narrow=True) as wire:
            wire.send(post(TEXT, long)).until(b"data: ")
            self.assertLess(self.server.resident_bytes() - before, 16 << 20)
        self.assert_quiet()

    def test_a_later_prompt_waits_for_room(self):
        """It is no request, so a full queue counts no refusal."""
        before = self.server.metric("ingot:rejected_total")
        long = {**GOOD_TEXT, "n": 4, "stream": True, "max_tokens": 1000, "ignore_eos": True}
        with server.Wire(self.server, narrow=True) as wire:
            wire.send(post(TEXT, long)).until(b"data: ")
            # With the first prompt, five run or wait, as many as may.
            reply = self.server.post(TEXT, {**GOOD_TEXT, "prompt": ["x"] * 8})
            self.assertEqual(reply.status, 200, reply)
            self.assertEqual(len(reply.json()["choices"]), 8)
        self.assertEqual(self.server.metric("ingot:rejected_total"), before)
        self.assert_quiet()

    def test_a_full_queue_refuses_the_first_prompt(self):
        long = {**GOOD_TEXT, "n": 5, "stream": True, "max_tokens": 1000, "ignore_eos": True}
        with server.Wire(self.server, narrow=True) as wire:
            wire.send(post(TEXT, long)).until(b"data: ")
            reply = self.server.post(TEXT, {**GOOD_TEXT, "prompt": ["x"] * 256})
            self.assert_error(reply, 429, "server_overloaded")
        self.assert_quiet()

    def test_a_refusal_without_reading_keeps_the_connection(self):
        """Five run or wait, as many as may: the next one is refused by its head alone."""
        long = {**GOOD_TEXT, "n": 4, "stream": True, "max_tokens": 1000, "ignore_eos": True}
        with server.Wire(self.server, narrow=True) as first, server.Wire(self.server) as other:
            first.send(post(TEXT, long)).until(b"data: ")
            with server.Wire(self.server, narrow=True) as second:
                second.send(post(TEXT, {**long, "n": 1}))
                server.eventually("it is full", lambda: self.server.metric(
                    "vllm:num_requests_running") + self.server.metric(
                        "vllm:num_requests_waiting") == 5)
                for _ in range(3):
                    reply = other.send(post(TEXT, GOOD_TEXT)).reply()
                    self.assert_error(reply, 429, "server_overloaded")
                large = post(TEXT, {**GOOD_TEXT, "prompt": "x" * 100_000})
                reply = other.send(large).reply()
                self.assert_error(reply, 429, "server_overloaded")
                self.assertEqual(reply.field("Connection"), "close")
        self.assert_quiet()

    def test_q07_more_choices_than_ever_fit(self):
        """Trying again would not help."""
        for stream in (False, True):
            reply = self.server.post(TEXT, {**GOOD_TEXT, "n": 16, "stream": stream})
            self.assert_error(reply, 400, param="n")


class Cancelling(server.ServerTest):
    KEYS = ("alice-alice-alice", "bobby-bobby-bobby")
    auth = (("x-api-key", KEYS[0]),)
    LONG = {"prompt": "x", "max_tokens": 8000, "ignore_eos": True, "stream": True}

    @classmethod
    def setUpClass(cls):
        handle, path = tempfile.mkstemp(prefix="ingot-keys-")
        cls.addClassCleanup(os.unlink, path)
        with os.fdopen(handle, "w") as f:
            f.write("\n".join(cls.KEYS))
        cls.args = ("--ctx", "8192", "--api-key-file", path)
        super().setUpClass()

    def cancel(self, id, key):
        return self.server.exchange(head("DELETE", f"/v1/requests/{id}",
                                         [("x-api-key", self.KEYS[key])]))

    def test_many_prompts_beside_another_request_of_the_key(self):
        """As many prompts as a key may have requests in the queue."""
        with Wire(self.server, narrow=True) as wire:
            wire.send(post(TEXT, self.LONG, self.auth)).until(b"data: ")
            body = {"prompt": ["x"] * 256, "max_tokens": 1}
            reply = self.server.exchange(post(TEXT, body, self.auth))
            self.assertEqual(reply.status, 200, reply)
            self.assertEqual(len(reply.json()["choices"]), 256)

    def test_q24_cancelling(self):
        with Wire(self.server, narrow=True) as wire:
            wire.send(post(TEXT, self.LONG, self.auth))
            fields = wire.until(b"\r\n\r\n").decode()
            id = fields.split("X-Request-Id: ")[1].split("\r\n")[0]
            self.assertRegex(id, "^[0-9a-f]{32}$")
            for wrong in ("x", "0" * 32, id[:-1], id + "0", "%2e%2e", "x" * 5000):
                self.assert_error(self.cancel(wrong, 0), 404)
            self.assert_error(self.cancel(id, 1), 404, "request_not_found")
            # An unread request runs and pauses in turn, perhaps between the two requests.
            eventually("it is still there", lambda: sum(
                self.server.metric(name, self.auth) for name in
                ("vllm:num_requests_running", "ingot:num_requests_paused")) == 1)
            self.assertEqual(self.cancel("cmpl-" + id, 0).status, 200)
            rest = wire.ends().decode()
            self.assertIn('"code":"cancelled"', rest)
            self.assertNotIn("[DONE]", rest)
        eventually("it is gone", lambda: self.cancel(id, 0).status == 404)


if __name__ == "__main__":
    server.main()
