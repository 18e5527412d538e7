#!/usr/bin/env python3
"""Tests raw prompts: special tokens, BOS and EOS; and fill-in-the-middle: `suffix` of completions,
POST /infill and ingot run --suffix."""
import json

import serving
from serving import ServerTest, ingot  # also lets Python find the modules below
from model_files import BOOL, tiny_gguf
from script_model import script_model

SCRIPT = ["x", " ", "y"]
NAMES = ("<fim_prefix>", "<fim_suffix>", "<fim_middle>")
TEXT = "/v1/completions"
# Ids of the tiny model: BOS, the bytes from 3, the script's "x", space and "y", and NAMES last.
BOS, SPACE, PREFIX, SUFFIX, MIDDLE = 1, 260, 317, 318, 319
# The prompt for the gap in "ab", "ba": the prefix gets SentencePiece's space, the suffix does not.
GAP = [BOS, PREFIX, SPACE, 3 + ord("a"), 3 + ord("b"), SUFFIX, 3 + ord("b"), 3 + ord("a"), MIDDLE]
BODY = {"input_prefix": "ab", "input_suffix": "ba"}


class Ends(ServerTest):
    """A tokenizer that adds BOS 1, "<s>", and EOS 2, "</s>"."""

    @classmethod
    def arguments(cls):
        model = tiny_gguf().set("tokenizer.ggml.add_eos_token", BOOL, True)
        return (cls.file("eos.gguf", model.build()),)

    def ids(self, prompt, **body):
        found = self.ask("/tokenize", {"prompt": prompt, **body})["tokens"]
        completion = self.ask(TEXT, {"prompt": prompt, "max_tokens": 1, "return_token_ids": True,
                                     **body})
        self.assertEqual(completion["choices"][0]["prompt_token_ids"], found)
        self.assertEqual(completion["usage"]["prompt_tokens"], len(found))
        return found

    def test_no_eos_ends_a_prompt(self):
        found = self.ids("the hen")
        self.assertEqual(found[0], BOS)
        self.assertNotIn(2, found)
        self.assertEqual(self.ids("the hen</s>"), found + [2])

    def test_eos_ends_the_input_of_an_embedding(self):
        found = self.ask("/v1/embeddings", {"input": "the hen"})
        self.assertEqual(found["usage"]["prompt_tokens"], len(self.ids("the hen")) + 1)
        names = self.ask("/v1/embeddings", {"input": "<s></s>"})
        self.assertEqual(names["usage"]["prompt_tokens"],
                         len(self.ids("<s></s>", special=False)) + 1)

    def test_a_prompt_with_bos_gets_no_second_one(self):
        self.assertEqual(self.ids("<s>"), [BOS])
        self.assertEqual(self.ids("<s></s>"), [BOS, 2])
        self.assertEqual(self.ids("<s><s>"), [BOS, BOS])
        plain = self.ids("<s>", special=False)
        self.assertEqual(plain[0], BOS)
        self.assertNotIn(BOS, plain[1:])

    def test_offsets_of_an_echo(self):
        """The echo is the text that was sent. A BOS that the tokenizer added is not in it."""
        for prompt, offsets in (("</s>the</s>", [0, 0, 7]), ("<s>the</s>", [0, 6])):
            found = self.ask(TEXT, {"prompt": prompt, "echo": True, "logprobs": 0,
                                    "max_tokens": 0})
            choice = found["choices"][0]
            self.assertEqual(choice["text"], prompt)
            lists = choice["logprobs"]
            self.assertEqual([offset for token, offset in zip(lists["tokens"], lists["text_offset"])
                              if token in ("<s>", "</s>")], offsets)


class Infill(ServerTest):
    @classmethod
    def arguments(cls):
        return (cls.file("fim.gguf", script_model(SCRIPT, control=NAMES)),)

    def test_suffix_of_completions(self):
        found = self.ask(TEXT, {"prompt": "ab", "suffix": "ba", "return_token_ids": True,
                                "logprobs": 0, "temperature": 0})
        choice = found["choices"][0]
        self.assertEqual((choice["text"], choice["finish_reason"]), ("x y", "stop"))
        self.assertEqual(choice["prompt_token_ids"], GAP)
        self.assertEqual(choice["logprobs"]["tokens"], SCRIPT)
        self.assertEqual(found["usage"]["prompt_tokens"], len(GAP))

    def test_no_suffix_is_no_gap(self):
        for body in ({}, {"suffix": None}, {"suffix": ""}):
            found = self.ask(TEXT, {"prompt": "ab", "return_token_ids": True, **body})
            self.assertEqual(found["choices"][0]["prompt_token_ids"], GAP[:1] + GAP[2:5])

    def test_texts_around_a_gap_stay_text(self):
        def ids(**body):
            found = self.ask(TEXT, {"prompt": NAMES[0], "suffix": NAMES[2],
                                    "return_token_ids": True, **body})
            return found["choices"][0]["prompt_token_ids"]
        for found in (ids(), ids(special=False)):
            self.assertEqual([i for i in found if i >= PREFIX], [PREFIX, SUFFIX, MIDDLE])
        self.assertEqual([i for i in ids(special=True) if i >= PREFIX],
                         [PREFIX, PREFIX, SUFFIX, MIDDLE, MIDDLE])

    def test_what_a_suffix_excludes(self):
        self.refused(TEXT, {"prompt": "ab", "suffix": "ba", "echo": True}, "echo")
        self.refused(TEXT, {"prompt": [5, 6], "suffix": "ba"}, "suffix")
        self.refused(TEXT, {"prompt": "ab", "suffix": 5}, "suffix")
        self.refused(TEXT, {"prompt": ["ab", "ba"], "suffix": "ba"}, "suffix")
        found = self.ask(TEXT, {"prompt": ["ab"], "suffix": "ba", "return_token_ids": True})
        self.assertEqual(found["choices"][0]["prompt_token_ids"], GAP)

    def test_infill(self):
        found = self.ask("/infill", {**BODY, "temperature": 0, "seed": 5})
        self.assertEqual((found["content"], found["seed"]), ("x y", 5))
        self.assertEqual((found["stop"], found["stop_type"], found["truncated"]),
                         (True, "eos", False))
        self.assertEqual((found["tokens_predicted"], found["tokens_evaluated"]), (3, len(GAP)))
        with_prompt = {"input_prefix": "a", "prompt": "b", "input_suffix": "ba", "temperature": 0,
                       "seed": 5}
        self.assertEqual(self.ask("/infill", with_prompt), found)

    def test_ends_of_infill(self):
        found = self.ask("/infill", {**BODY, "temperature": 0, "n_predict": 1})
        self.assertEqual((found["content"], found["stop_type"]), ("x", "limit"))
        found = self.ask("/infill", {**BODY, "temperature": 0, "n_predict": 0})
        self.assertEqual((found["content"], found["tokens_predicted"]), ("", 0))
        found = self.ask("/infill", {**BODY, "temperature": 0, "stop": ["z", "y"]})
        self.assertEqual((found["content"], found["stop_type"], found["stopping_word"]),
                         ("x ", "word", "y"))
        found = self.ask("/infill", {**BODY, "temperature": 0, "n_predict": -1, "top_kk": 1})
        self.assertEqual([w["param"] for w in found["warnings"]], ["top_kk"])

    def test_stream_of_infill(self):
        status, headers, content = self.server.request(
            "POST", "/infill", {**BODY, "temperature": 0, "stream": True})
        self.assertEqual((status, headers["Content-Type"]), (200, "text/event-stream"))
        events = [json.loads(frame.removeprefix("data: "))
                  for frame in content.decode().split("\n\n")[:-1]]
        self.assertEqual("".join(event["content"] for event in events), "x y")
        self.assertEqual([event["stop"] for event in events],
                         [False] * (len(events) - 1) + [True])
        self.assertEqual(events[-1]["tokens_predicted"], 3)

    def test_usage_of_infill(self):
        """The last event has the counts, and there is no other form of them."""
        status, _, content = self.server.request(
            "POST", "/infill", {**BODY, "stream": True, "stream_options": {"include_usage": True}})
        self.assertEqual(status, 200)
        first = json.loads(content.decode().split("\n\n")[0].removeprefix("data: "))
        self.assertEqual([w["param"] for w in first["warnings"]], ["stream_options"])

    def test_other_files_come_first(self):
        more = {**BODY, "input_extra": [{"filename": "a.h", "text": "q" * 100}], "temperature": 0}
        found = self.ask("/infill", more)
        self.assertGreater(found["tokens_evaluated"], len(GAP) + 100)
        self.assertEqual(found["content"], "x y")

    def test_bad_infill(self):
        for name, value in (("input_prefix", None), ("input_suffix", None), ("input_prefix", 5),
                            ("prompt", [5]), ("input_extra", {}), ("input_extra", [{}]),
                            ("input_extra", ["x"]), ("n_predict", -2),
                            ("temperature", -1), ("special", "yes"), ("grammar", "x"), ("n", 5),
                            ("skip_special_tokens", False), ("tools", [{"type": "function"}])):
            with self.subTest(name=name, value=value):
                self.refused("/infill", {**BODY, name: value}, name)
        files = [{"filename": "a.h", "text": ""}, {"filename": "b.h"}]
        error = self.refused("/infill", {**BODY, "input_extra": files}, "input_extra")
        self.assertEqual(error["param"], "input_extra[1]")

    def test_too_long(self):
        error = self.refused(TEXT, {"prompt": ["a" * 100_000], "suffix": "ba"}, "prompt")
        self.assertEqual((error["code"], error["param"]), ("context_length_exceeded", "prompt[0]"))
        error = self.refused(TEXT, {"prompt": "ab", "suffix": "a" * 100_000}, "suffix")
        self.assertEqual(error["code"], "context_length_exceeded")
        parts = {name: "a" * 100_000 for name in ("input_prefix", "prompt", "input_suffix")}
        parts["input_extra"] = [{"filename": "a.h", "text": "a" * 100_000}]
        for name, value in parts.items():
            error = self.refused("/infill", {**BODY, name: value}, name)
            self.assertEqual(error["code"], "context_length_exceeded")

    def test_names_of_files_that_the_model_does_not_see(self):
        files = [{"filename": "a" * 1_000_000, "text": "q"}]
        self.ask("/infill", {**BODY, "input_extra": files})


class WithFiles(ServerTest):
    @classmethod
    def arguments(cls):
        control = ("<file_sep>", *NAMES)
        return (cls.file("files.gguf", script_model(SCRIPT, control=control)),)

    def test_long_names_are_refused_before_they_are_encoded(self):
        files = [{"filename": "a" * 1_000_000, "text": "q"}]
        error = self.refused("/infill", {**BODY, "input_extra": files}, "input_extra")
        self.assertEqual(error["code"], "context_length_exceeded")
        self.assertIn("or more", error["message"])


class WithoutTokens(ServerTest):
    @classmethod
    def arguments(cls):
        return (cls.file("plain.gguf", script_model(SCRIPT)),)

    def test_it_is_refused(self):
        said = "the model has no fill-in-the-middle tokens"
        for path, body, param in ((TEXT, {"prompt": "ab", "suffix": "ba"}, "suffix"),
                                  ("/infill", BODY, "input_suffix")):
            status, found = self.server.post(path, body)
            self.assertEqual(status, 400)
            self.assertEqual(found["error"]["param"], param)
            self.assertIn(said, found["error"]["message"])


class Run(ingot.CliTest):
    def setUp(self):
        self.fim = self.file("fim.gguf", script_model(SCRIPT, control=NAMES))

    def test_suffix(self):
        args = ("run", self.fim, "-p", "ab", "--suffix", "ba", "--temperature", "0")
        found = self.one_json(self.assert_done(ingot.run(*args, "--json")))
        self.assertEqual((found["prompt_ids"], found["text"]), (GAP, "x y"))
        self.assertEqual(self.assert_done(ingot.run(*args)).out, b"abx yba\n")
        for extra in (("--tokens", "5"), ("--jsonl",)):
            self.assert_error(ingot.run("run", self.fim, "--suffix", "ba", *extra), ingot.USAGE)
        said = self.assert_error(ingot.run("run", self.model, "-p", "ab", "--suffix", "ba"),
                                 ingot.USAGE)
        self.assertIn("suffix: the model has no fill-in-the-middle tokens", said)

    def test_special(self):
        def ids(*args):
            result = ingot.run("run", self.fim, "-p", NAMES[0], "--json", *args)
            return self.one_json(self.assert_done(result))["prompt_ids"]
        self.assertEqual(ids(), [BOS, PREFIX])
        self.assertNotIn(PREFIX, ids("--no-special"))

    def test_lines(self):
        lines = [{"prompt": "ab", "suffix": "ba"}, {"prompt": NAMES[0]},
                 {"prompt": NAMES[0], "special": False}, {"prompt": "ab", "special": 1},
                 {"prompt": "ab", "suffix": 1}, {"prompt_ids": [5], "suffix": "ba"}]
        path = self.file("lines", "".join(json.dumps(line) + "\n" for line in lines).encode())
        with open(path, "rb") as stdin:
            result = ingot.run("run", self.fim, "--jsonl", stdin=stdin)
        self.assertEqual(result.code, ingot.CHECK_FAILED, result)
        found = [json.loads(line) for line in result.out.splitlines()]
        self.assertEqual(found[0]["prompt_ids"], GAP)
        self.assertEqual(found[1]["prompt_ids"], [BOS, PREFIX])
        self.assertNotIn(PREFIX, found[2]["prompt_ids"])
        for reply, name in zip(found[3:], ("special: is", "suffix: is", "special and suffix")):
            self.assertIn(name, reply["error"])


if __name__ == "__main__":
    serving.main()
