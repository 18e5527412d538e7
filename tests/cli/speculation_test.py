#!/usr/bin/env python3
"""Tests --draft and --draft-tokens: no result changes, drafts are counted, and what cannot draft is
refused."""
import json

import ingot
import model_files
from ingot import DOES_NOT_FIT, MODEL, USAGE, run

# Tokens that occur again and again, so that lookup finds them.
PROMPT = ",".join(["1"] + ["283", "289", "301", "310"] * 6)
SAMPLED = ("--temperature", "0.7", "--seed", "5", "--repetition-penalty", "1.05")
KEPT = ("ids", "text", "digest", "finish_reason")


class Speculation(ingot.CliTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.other = cls.file("other.gguf", model_files.tiny_gguf(seed=2).build())

    def run_one(self, *more):
        return self.one_json(self.assert_done(run(
            "run", self.model, "--tokens", PROMPT, "--max-tokens", "60", "--ignore-eos", "--json",
            *more)))

    def draft_file(self, name, change):
        """A draft model with another tokenizer."""
        model = model_files.tiny_gguf()
        change(model)
        return self.file(name, model.build())

    def test_no_draft_changes_a_result(self):
        for sampling in ((), SAMPLED):
            plain = self.run_one(*sampling, "--draft", "off")
            self.assertEqual((plain["drafted"], plain["accepted"]), (0, 0))
            for draft in ("lookup", self.model, self.other):
                for tokens in ("1", "5", "32", "auto"):
                    with self.subTest(sampling=sampling, draft=draft, tokens=tokens):
                        found = self.run_one(*sampling, "--draft", draft, "--draft-tokens", tokens)
                        self.assertEqual([found[k] for k in KEPT], [plain[k] for k in KEPT])
                        self.assertLessEqual(found["accepted"], found["drafted"])
                        if tokens != "auto":
                            self.assertGreater(found["drafted"], 0)

    def test_a_model_that_drafts_for_itself_is_right(self):
        for sampling in ((), SAMPLED):
            found = self.one_json(self.assert_done(run(
                "run", self.model, "--tokens", "1,283", "--max-tokens", "9", "--ignore-eos",
                "--json", *sampling, "--draft", self.model, "--draft-tokens", "3")))
            self.assertGreater(found["accepted"], 0)

    def test_lookup_is_the_default(self):
        self.assertGreater(self.run_one("--draft-tokens", "4")["drafted"], 0)

    def test_lines_count_their_drafts(self):
        lines = "".join(json.dumps({"prompt_ids": [1, *[283, 289] * n], "ignore_eos": True,
                                    "max_tokens": 40}) + "\n" for n in range(2, 7))

        def results(*more):
            path = self.file("lines", lines.encode())
            with open(path, "rb") as stdin:
                out = self.assert_done(run("run", self.model, "--jsonl", *more, stdin=stdin)).out
            return [json.loads(line) for line in out.splitlines()]
        # The same from run to run, unless drafts are asked for.
        self.assertFalse(any("drafted" in r or "accepted" in r for r in results()))
        plain = results("--draft", "off")
        self.assertEqual({(r["drafted"], r["accepted"]) for r in plain}, {(0, 0)})
        for draft in ("lookup", self.other):
            found = results("--draft", draft, "--draft-tokens", "6")
            for a, b in zip(found, plain):
                self.assertEqual([a[k] for k in KEPT], [b[k] for k in KEPT])
                self.assertGreater(a["drafted"], 0)

    def test_other_tokens_are_refused_by_the_first_difference(self):
        def text(model):
            tokens = list(model.get("tokenizer.ggml.tokens"))
            tokens[290] += "x"
            tokens[295] += "y"
            model.set("tokenizer.ggml.tokens", (model_files.ARRAY, model_files.STRING), tokens)

        def kind(model):
            kinds = list(model.get("tokenizer.ggml.token_type"))
            kinds[291] = 4
            model.set("tokenizer.ggml.token_type", (model_files.ARRAY, model_files.INT32), kinds)

        for name, change, says in (("text.gguf", text, "token 290 is"),
                                   ("kind.gguf", kind, "token 291 is")):
            path = self.draft_file(name, change)
            result = run("run", self.model, "--tokens", "1,283", "--draft", path, "--json")
            line = self.assert_model_error(result, path, says, "draft model")
            self.assertIn(self.model, line)
        self.assertIn("(user-defined), but", line)

    def test_only_rows_behind_the_tokens_may_differ(self):
        def longer(text, kind):
            def change(model):
                for key, entry in (("tokens", text), ("scores", 0.0), ("token_type", kind)):
                    key = f"tokenizer.ggml.{key}"
                    element = next(k for name, k, _ in model.metadata if name == key)
                    model.set(key, element, [*model.get(key), entry])
                model.set("llama.vocab_size", model_files.UINT32, 321)
                for name in ("token_embd.weight", "output.weight"):
                    tensor = model.tensor(name)
                    tensor[1][1] += 1
                    tensor[3] += bytes(4 * tensor[1][0])
            return change
        longer_rows = self.draft_file("rows.gguf", longer("[PAD320]", 5))
        plain = self.run_one("--draft", "off")
        found = self.run_one("--draft", longer_rows, "--draft-tokens", "4")
        self.assertEqual([found[k] for k in KEPT], [plain[k] for k in KEPT])
        # A prompt may have the row that the draft model lacks.
        results = [self.one_json(self.assert_done(run(
            "run", longer_rows, "--tokens", f"{PROMPT},320,283,289", "--max-tokens", "30",
            "--json", *more))) for more in (("--draft", "off"), ("--draft", self.model))]
        self.assertEqual(*([found[k] for k in KEPT] for found in results))
        for name, kind in (("used.gguf", 1), ("unused.gguf", 5)):
            path = self.draft_file(name, longer("more", kind))
            result = run("run", self.model, "--tokens", "1,283", "--draft", path, "--json")
            self.assert_model_error(result, path, "token 320 is", "but missing in")

    def test_models_without_tokenizer_or_text_are_refused(self):
        folder = self.hf_folder("plain")
        result = run("run", self.model, "--tokens", "1,283", "--draft", folder, "--json")
        self.assert_model_error(result, folder, "has no tokenizer")
        result = run("run", self.model, "--tokens", "1,283", "--draft", "nowhere.gguf", "--json")
        self.assert_error(result, MODEL, "nowhere.gguf")

    def test_a_draft_model_that_does_not_fit_is_named(self):
        def ends(limit, *more):
            return run("run", self.model, "--tokens", "1,283", "--max-tokens", "4", "--json",
                       "--memory-limit", str(limit), *more)
        low, high = 1, 1 << 30
        while high - low > 64:
            middle = (low + high) // 2
            if ends(middle, "--draft", "off").code == ingot.DONE:
                high = middle
            else:
                low = middle
        result = ends(high, "--draft", self.other)
        self.assert_error(result, DOES_NOT_FIT, self.other)
        self.assert_done(ends(1 << 30, "--draft", self.other))

    def test_wrong_values(self):
        for tokens in ("0", "33", "-1", "many", ""):
            for command in (("run", self.model, "--tokens", "1"), ("chat", self.model, "-p", "x"),
                            ("serve", self.model), ("bench", self.model)):
                self.assert_error(run(*command, "--draft", "lookup", "--draft-tokens", tokens),
                                  USAGE, "--draft-tokens")
        self.assert_error(run("run", self.model, "--tokens", "1", "--draft", "off",
                              "--draft-tokens", "4"), USAGE, "--draft-tokens", "--draft off")
        self.assert_error(run("run", self.model, "--tokens", "1", "--draft", ""), USAGE, "--draft")


class Bench(ingot.CliTest):
    def bench(self, *more):
        return run("bench", self.model, "--decode", "24", "--reps", "2", "--json", *more)

    def test_decodes_with_drafts_give_equal_digests(self):
        plain = self.one_json(self.assert_done(
            self.bench("--prefill", "0", "--depth", "0,40", "--batch", "1,3")))
        self.assertNotIn("drafted", plain["rows"][0])
        self.assertEqual(plain["settings"]["draft"], "off")
        for draft in ("lookup", self.model):
            found = self.one_json(self.assert_done(
                self.bench("--depth", "0,40", "--batch", "1,3", "--draft", draft,
                           "--draft-tokens", "4")))
            self.assertEqual(found["settings"]["draft"], draft)
            self.assertEqual(len(found["rows"]), 4)
            for a, b in zip(found["rows"], plain["rows"]):
                self.assertEqual(a["sequence_digests"], b["sequence_digests"])
                self.assertFalse(a["mismatch"])
                self.assertGreater(a["tok_s"], 0)
                self.assertGreaterEqual(a["drafted"], a["accepted"])
            self.assertEqual(found["rows"][0]["digest"], plain["rows"][0]["digest"])
            self.assertGreater(sum(row["drafted"] for row in found["rows"]), 0)

    def test_what_cannot_draft_is_refused_by_name(self):
        for option in (("--prefill", "4"), ("--shared-prefix",), ("--profile",)):
            self.assert_error(self.bench("--draft", "lookup", *option), USAGE, option[0])
        self.assert_error(run("bench", self.model, "--decode", "1", "--draft", "lookup"), USAGE,
                          "--decode")

    def test_a_load_with_drafts(self):
        found = self.one_json(self.assert_done(run(
            "bench", "serve-inproc", self.model, "--requests", "4", "--input-len", "8",
            "--output-len", "40", "--draft", "lookup", "--draft-tokens", "4", "--json")))
        self.assertEqual((found["mismatches"], found["checked"]), (0, 4))
        self.assertGreater(found["drafted"], 0)
        self.assertEqual(found["settings"]["draft"], "lookup")


if __name__ == "__main__":
    ingot.main()
