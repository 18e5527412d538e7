#!/usr/bin/env python3
"""Tests ingot embed and ingot rerank: forms of input and output, and the reference models."""
import array
import ast
import json
import math
import os
import shutil
import struct
import unittest

import ingot
from ingot import CHECK_FAILED, MODEL, SHARED, USAGE

REFERENCES = os.path.join(SHARED, "references")
EMBEDDERS = os.path.join(REFERENCES, "embeddings")
RERANKERS = os.path.join(REFERENCES, "rerank")


def npy(data):
    """(shape, values) of a little-endian float32 .npy file of version 1."""
    size = struct.unpack("<H", data[8:10])[0]
    head = ast.literal_eval(data[10:10 + size].decode())
    values = array.array("f", data[10 + size:])
    return head["shape"], list(values)


def read_npy(path):
    with open(path, "rb") as file:
        return npy(file.read())


def read_json(*parts):
    with open(os.path.join(*parts), encoding="utf-8") as file:
        return json.load(file)


def folders(path):
    """The folders below a path that hold weights; none without the shared data."""
    if not os.path.isdir(path):
        return []
    return [name for name in sorted(os.listdir(path))
            if os.path.exists(os.path.join(path, name, "model.safetensors"))]


def length(values):
    return math.sqrt(sum(v * v for v in values))


class LinesTest(ingot.CliTest):
    def lines_of(self, command, model, requests, *flags, code=0):
        """The JSON lines that a command writes for lines on stdin, and what it says."""
        text = "".join(json.dumps(r) + "\n" for r in requests).encode()
        process = ingot.start(command, model, "--jsonl", *flags, stdin=ingot.subprocess.PIPE)
        out, err = process.communicate(text, timeout=ingot.TIMEOUT_S)
        self.assertEqual(process.returncode, code, err)
        return [json.loads(line) for line in out.decode().splitlines()], err.decode()

    def assert_near(self, found, expected, bound, what):
        self.assertEqual(len(found), len(expected), what)
        worst = max(abs(a - b) for a, b in zip(found, expected))
        self.assertLessEqual(worst, bound, what)


class Embed(LinesTest):
    """With a decoder, which every build has."""

    def test_forms_of_input_and_output(self):
        one = self.one_json(self.assert_done(ingot.run("embed", self.model, "-p", "a b")))
        self.assertEqual(sorted(one), ["embedding", "tokens"])
        self.assertTrue(math.isclose(length(one["embedding"]), 1, abs_tol=1e-6))
        texts = self.file("texts.txt", b"a b\nb\n")
        both = self.assert_done(ingot.run("embed", self.model, "--file", texts))
        found = [json.loads(line) for line in both.out.splitlines()]
        self.assertEqual(found[0], one)
        self.assertNotEqual(found[1], one)
        csv = self.assert_done(ingot.run("embed", self.model, "--file", texts, "--format", "csv"))
        rows = [[float(v) for v in line.split(b",")] for line in csv.out.splitlines()]
        self.assertEqual(rows, [line["embedding"] for line in found])
        matrix = self.assert_done(
            ingot.run("embed", self.model, "--file", texts, "--format", "npy"))
        shape, values = npy(matrix.out)
        self.assertEqual(shape, (2, len(one["embedding"])))
        self.assertEqual(values, [v for row in rows for v in array.array("f", row)])
        empty = self.assert_done(ingot.run("embed", self.model, "--file", self.file("no.txt", b""),
                                           "--format", "npy"))
        self.assertEqual(npy(empty.out), ((0, len(one["embedding"])), []))

    def test_a_decoder_warns_and_gives_its_last_state(self):
        result = ingot.run("embed", self.model, "-p", "a b")
        self.assertIn("was not made for embeddings", result.err)
        (first, longer, same), _ = self.lines_of(
            "embed", self.model, [{"ids": [5, 6]}, {"ids": [5, 6, 7]}, {"ids": [5, 6]}])
        self.assertEqual(first, same)
        self.assertNotEqual(first["embedding"], longer["embedding"])
        self.assertEqual(longer["tokens"], 3)

    def test_pooling_and_length_can_be_chosen(self):
        line = [{"ids": [5, 6, 7]}]
        found = {}
        for flags in (("--pooling", "mean"), ("--pooling", "cls"), ("--pooling", "last"),
                      ("--no-normalize",), ()):
            found[flags] = self.lines_of("embed", self.model, line, *flags)[0][0]["embedding"]
        self.assertEqual(found["--pooling", "last"], found[()])
        self.assertEqual(len({tuple(v) for v in found.values()}), 4)
        raw = found["--no-normalize",]
        self.assert_near([v / length(raw) for v in raw], found[()], 1e-6, "normalised")
        # A causal model's first state depends on the first token alone.
        alone = self.lines_of("embed", self.model, [{"ids": [5]}])[0][0]["embedding"]
        self.assertEqual(found["--pooling", "cls"], alone)

    def test_dimensions_cut_and_normalise_again(self):
        line = [{"ids": [5, 6, 7]}]
        (whole,), _ = self.lines_of("embed", self.model, line)
        (short,), _ = self.lines_of("embed", self.model, line, "--dimensions", "3")
        self.assertEqual(len(short["embedding"]), 3)
        self.assertTrue(math.isclose(length(short["embedding"]), 1, abs_tol=1e-6))
        scale = length(whole["embedding"][:3])
        self.assert_near([v / scale for v in whole["embedding"][:3]], short["embedding"], 1e-6, "")
        (raw,), _ = self.lines_of("embed", self.model, line, "--dimensions", "3", "--no-normalize")
        self.assertGreater(abs(length(raw["embedding"]) - 1), 1e-3)
        refused = ingot.run("embed", self.model, "-p", "a", "--dimensions", "100000")
        self.assert_error(refused, USAGE, "--dimensions 100000")

    def test_bad_lines_have_errors_in_their_place(self):
        requests = [{"ids": [5]}, {"ids": [-1]}, {"ids": [10 ** 6]}, {"ids": []}, {"ids": "5"},
                    {"text": 5}, {}, {"text": "a", "ids": [5]}, {"text": "a", "other": 1}, [],
                    {"ids": [5] * 100000}, {"ids": [5]}]
        found, _ = self.lines_of("embed", self.model, requests, code=CHECK_FAILED)
        self.assertEqual(len(found), len(requests))
        self.assertEqual(found[0], found[-1])
        for reply in found[1:-1]:
            self.assertEqual(list(reply), ["error"])
        self.assertIn("--truncate", found[-2]["error"])
        text = "".join(json.dumps(r) + "\n" for r in requests)
        process = ingot.start("embed", self.model, "--jsonl", "--format", "csv",
                              stdin=ingot.subprocess.PIPE)
        out, err = process.communicate(text.encode(), timeout=ingot.TIMEOUT_S)
        self.assertEqual((process.returncode, out), (USAGE, b""), err)

    def test_truncate_cuts_with_a_warning(self):
        (cut, whole), err = self.lines_of("embed", self.model, [{"ids": [5, 6, 7, 8]},
                                                                {"ids": [5, 6, 7]}],
                                          "--truncate", "--ctx", "3")
        self.assertEqual(cut, whole)
        self.assertIn("--truncate: 1 of 2 inputs were cut to 3 tokens", err)

    def test_options_are_checked(self):
        self.assert_error(ingot.run("embed", self.model), USAGE, "-p, --file and --jsonl")
        self.assert_error(ingot.run("embed", self.model, "-p", "a", "--jsonl"), USAGE, "exactly")
        self.assert_error(ingot.run("embed", self.model, "-p", "a", "--prompt-name", "query"),
                          USAGE, "the model has no prompts")
        self.assert_error(ingot.run("embed", self.model, "-p", "a", "--pooling", "max"), USAGE)
        self.assert_error(ingot.run("rerank", self.model, "--query", "a", "--jsonl"), MODEL,
                          "scores no pairs of texts", "ingot run")
        self.assert_error(ingot.run("rerank", self.model, "--query", "a"), USAGE, "--file")

    def test_no_lines_give_no_lines(self):
        self.assertEqual(self.lines_of("embed", self.model, [])[0], [])


@unittest.skipUnless(folders(EMBEDDERS), "there are no reference embedders")
class ReferenceEmbedders(LinesTest):
    def test_vectors_equal_the_references_alone_and_in_batches(self):
        for name in folders(EMBEDDERS):
            folder = os.path.join(EMBEDDERS, name)
            with self.subTest(name):
                inputs = [{"ids": ids} for ids in read_json(folder, "inputs.json")["inputs"]]
                (rows, cols), expected = read_npy(os.path.join(folder, "embeddings.npy"))
                self.assertEqual(len(inputs), rows)
                found, _ = self.lines_of("embed", folder, inputs)
                flat = [v for line in found for v in line["embedding"]]
                self.assert_near(flat, expected, 1e-4 * max(map(abs, expected)), name)
                self.assertEqual([line["tokens"] for line in found],
                                 [len(line["ids"]) for line in inputs])
                for flags in (("--threads", "1", "--step-rows", "1"),
                              ("--sequences", "2", "--cpu-isa", "scalar")):
                    self.assertEqual(self.lines_of("embed", folder, inputs, *flags)[0], found)
                for i in (0, rows - 1):
                    self.assertEqual(self.lines_of("embed", folder, [inputs[i]])[0], [found[i]])

    def test_texts_become_the_tokens_of_the_references(self):
        for name in folders(EMBEDDERS):
            folder = os.path.join(EMBEDDERS, name)
            if not os.path.exists(os.path.join(folder, "texts.json")):
                continue
            with self.subTest(name):
                texts = read_json(folder, "texts.json")
                found, _ = self.lines_of("embed", folder, [{"text": t} for t in texts["texts"]])
                self.assertEqual([line["tokens"] for line in found], list(map(len, texts["ids"])))
                _, expected = read_npy(os.path.join(folder, "text_embeddings.npy"))
                flat = [v for line in found for v in line["embedding"]]
                self.assert_near(flat, expected, 1e-4 * max(map(abs, expected)), name)

    def test_prompts_stand_before_texts(self):
        name = folders(EMBEDDERS)[0]
        folder = self.path("prompted")
        shutil.copytree(os.path.join(EMBEDDERS, name), folder)
        settings = {"prompts": {"query": "the hand ", "document": ""},
                    "default_prompt_name": "document"}
        path = os.path.join(folder, "config_sentence_transformers.json")
        os.chmod(folder, 0o755)
        os.chmod(path, 0o644)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(settings, file)
        prompted, _ = self.lines_of("embed", folder, [{"text": "no"}], "--prompt-name", "query")
        plain, _ = self.lines_of("embed", folder, [{"text": "the hand no"}, {"text": "no"}])
        self.assertEqual(prompted[0], plain[0])
        self.assertNotEqual(prompted[0], plain[1])
        self.assert_error(ingot.run("embed", folder, "-p", "a", "--prompt-name", "other"), USAGE,
                          "the model has query, document")

    def test_an_encoder_says_what_it_can_do(self):
        for name in folders(EMBEDDERS):
            if name.startswith("qwen3"):
                continue
            folder = os.path.join(EMBEDDERS, name)
            with self.subTest(name):
                for command in ("run", "chat", "perplexity"):
                    refused = ingot.run(*ingot.arguments(command, folder, self.folder))
                    self.assert_error(refused, MODEL, "which generates no text", "ingot embed")
                result = ingot.run("embed", folder, "-p", "a", "--kv-type", "f16")
                self.assertEqual(result.code, 0, result)
                self.assertIn("--kv-type F16 does not apply", result.err)


class ConvertedTest(LinesTest):
    """Folders as GGUF: they give the same results, or are refused for what GGUF cannot say."""
    REFUSED = {"bert-cls-raw": "modules.json has no Normalize",
               "modernbert-mean-raw": "modules.json has no Normalize",
               "bert-gelu_new-last": "hidden_act",
               "xlm-roberta-mean-norm": "GGUF has no key for the step NFKC of its normalisation",
               "xlm-roberta-cross": "GGUF has no key for the step NFKC of its normalisation"}

    def converted(self, folder, kind):
        """The path of the file; nothing for a folder that is refused."""
        out = self.path(f"{kind}.gguf")
        result = ingot.run("quantize", folder, out, "--type", kind)
        says = self.REFUSED.get(os.path.basename(folder))
        if says is not None:
            self.assert_error(result, MODEL, says)
            return None
        self.assertEqual(result.code, 0, result)
        return out

    def for_each_file(self, parent, check):
        """Calls check(file, folder, type) for each folder that GGUF can express."""
        done = 0
        for name in folders(parent):
            with self.subTest(name):
                folder = os.path.join(parent, name)
                for kind in ("F32", "Q8_0", "Q4_K_M"):
                    out = self.converted(folder, kind)
                    if out is not None:
                        check(out, folder, kind)
                        done += 1
        self.assertGreater(done, 0)


@unittest.skipUnless(folders(EMBEDDERS), "there are no reference embedders")
class ConvertedEmbedders(ConvertedTest):
    def test_vectors_are_those_of_the_folder(self):
        def check(file, folder, kind):
            lines = [{"text": t} for t in read_json(folder, "texts.json")["texts"]]
            got, want = (self.lines_of("embed", model, lines)[0] for model in (file, folder))
            if kind == "F32":
                self.assertEqual(got, want)
            for one, other in zip(got, want):
                self.assertEqual(one["tokens"], other["tokens"])
                similar = sum(a * b for a, b in zip(one["embedding"], other["embedding"]))
                self.assertGreater(similar, 0.9)

        self.for_each_file(EMBEDDERS, check)

    def test_a_default_prompt_is_refused(self):
        folder = self.path("prompted")
        shutil.copytree(os.path.join(EMBEDDERS, "bert-mean-norm"), folder)
        path = os.path.join(folder, "config_sentence_transformers.json")
        os.chmod(folder, 0o755)
        os.chmod(path, 0o644)
        for default, says in (("query", "texts begin with the prompt query"), ("", None)):
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"prompts": {"query": "the "}, "default_prompt_name": default}, file)
            result = ingot.run("quantize", folder, self.path("p.gguf"), "--type", "F32")
            if says is None:
                self.assertEqual(result.code, 0, result)
                self.assertIn("GGUF has no keys for prompts", result.err)
            else:
                self.assert_error(result, MODEL, says)

    def test_files_keep_their_vectors(self):
        files = os.path.join(REFERENCES, "encoders-gguf")
        for name in sorted(os.listdir(files)):
            with self.subTest(name):
                source = os.path.join(files, name)
                out = self.path("again.gguf")
                lines = [{"ids": [2, 5, 9, 3]}, {"ids": [2, 3]}]
                want = self.lines_of("embed", source, lines)[0]
                for kind in ("F32", "Q8_0"):
                    self.assertEqual(ingot.run("quantize", source, out, "--type", kind).code, 0)
                    got = self.lines_of("embed", out, lines)[0]
                    if kind == "F32":
                        self.assertEqual(got, want)


@unittest.skipUnless(folders(RERANKERS), "there are no reference rerankers")
class ConvertedRerankers(ConvertedTest):
    def test_scores_are_those_of_the_folder(self):
        def check(file, folder, kind):
            pairs = read_json(folder, "pairs.json")["pairs"]
            query = pairs[0][0]
            lines = [{"text": text} for q, text in pairs if q == query]
            got, want = (self.lines_of("rerank", model, lines, "--query", query)[0]
                         for model in (file, folder))
            self.assertEqual(len(got), len(want))
            if kind == "F32":
                self.assertEqual(got, want)

        self.for_each_file(RERANKERS, check)


@unittest.skipUnless(folders(RERANKERS), "there are no reference rerankers")
class ReferenceRerankers(LinesTest):
    def scored(self, folder, query, texts, *flags):
        lines, _ = self.lines_of("rerank", folder, [{"text": t} for t in texts], "--query", query,
                                 *flags)
        return lines

    def test_scores_equal_the_references(self):
        for name in folders(RERANKERS):
            folder = os.path.join(RERANKERS, name)
            with self.subTest(name):
                pairs = read_json(folder, "pairs.json")["pairs"]
                _, expected = read_npy(os.path.join(folder, "scores.npy"))
                at = 0
                for query in dict.fromkeys(query for query, _ in pairs):
                    texts = [text for q, text in pairs if q == query]
                    lines = self.scored(folder, query, texts)
                    self.assertEqual([line["index"] for line in lines], list(range(len(texts))))
                    scores = [line["score"] for line in lines]
                    self.assert_near(scores, expected[at:at + len(texts)], 1e-3, name)
                    at += len(texts)
                    alone = [self.scored(folder, query, [t])[0]["score"] for t in texts[:2]]
                    self.assertEqual(alone, scores[:2])

    def test_sorted_and_between_0_and_1(self):
        folder = os.path.join(RERANKERS, folders(RERANKERS)[0])
        pairs = read_json(folder, "pairs.json")["pairs"]
        query = pairs[0][0]
        texts = [text for q, text in pairs if q == query]
        plain = self.scored(folder, query, texts)
        ranked = self.scored(folder, query, texts, "--sort")
        self.assertEqual(ranked, sorted(plain, key=lambda line: -line["score"]))
        for line, raw in zip(self.scored(folder, query, texts, "--sigmoid"), plain):
            self.assertTrue(math.isclose(line["score"], 1 / (1 + math.exp(-raw["score"])),
                                         rel_tol=1e-5))
        (cut,) = self.scored(folder, query, ["a " * 5000], "--truncate")
        self.assertIn("score", cut)
        result = ingot.run("embed", folder, "-p", "a")
        self.assert_error(result, MODEL, "makes no embeddings", "ingot rerank")


TEMPLATE = """{%- set query = messages | selectattr("role", "eq", "query") \\
| map(attribute="content") | first -%}
{%- set text = messages | selectattr("role", "eq", "document") \\
| map(attribute="content") | first -%}
Query: {{ query }} Document: {{ text }}""".replace("\\\n", "")


@unittest.skipUnless("qwen3-embedding-last-norm" in folders(EMBEDDERS), "there is no reference")
class YesOrNo(LinesTest):
    """A decoder that scores pairs by the logits of yes and no, as Qwen3-Reranker does."""
    YES, NO = 30, 40

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        source = os.path.join(EMBEDDERS, "qwen3-embedding-last-norm")
        cls.decoder = cls.copied(source, "decoder")
        cls.reranker = cls.copied(source, "reranker")
        cls.write(cls.reranker, "modules.json", [
            {"idx": 0, "name": "0", "path": "",
             "type": "sentence_transformers.base.modules.transformer.Transformer"},
            {"idx": 1, "name": "1", "path": "1_LogitScore",
             "type": "sentence_transformers.cross_encoder.modules.logit_score.LogitScore"}])
        os.mkdir(os.path.join(cls.reranker, "1_LogitScore"))
        cls.write(os.path.join(cls.reranker, "1_LogitScore"), "config.json",
                  {"true_token_id": cls.YES, "false_token_id": cls.NO})

    @classmethod
    def copied(cls, source, name):
        """A copy of a model's folder without the modules of an embedder."""
        folder = cls.path(name)
        os.mkdir(folder)
        for file in ("config.json", "model.safetensors", "tokenizer.json"):
            shutil.copyfile(os.path.join(source, file), os.path.join(folder, file))
        with open(os.path.join(folder, "chat_template.jinja"), "w", encoding="utf-8") as file:
            file.write(TEMPLATE)
        return folder

    @staticmethod
    def write(folder, name, content):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            json.dump(content, file)

    def expected(self, query, document):
        text = f"Query: {query} Document: {document}"
        ids = self.assert_done(ingot.run("tokenize", self.decoder, "-p", text)).out.decode().strip()
        out = self.path("logits.npy")
        self.assertEqual(ingot.run("logits", self.decoder, "--tokens", ids, "--out", out,
                                   "--kv-type", "f32", "--weights", "f32").code, 0)
        (rows, cols), values = read_npy(out)
        last = values[(rows - 1) * cols:]
        return last[self.YES] - last[self.NO], len(ids.split(","))

    def test_the_score_is_the_difference_of_two_logits(self):
        texts = ["a tower", "rain", "the hand and the line of it"]
        lines, _ = self.lines_of("rerank", self.reranker, [{"text": t} for t in texts],
                                 "--query", "how tall?")
        for text, line in zip(texts, lines):
            score, _ = self.expected("how tall?", text)
            self.assertTrue(math.isclose(line["score"], score, abs_tol=1e-4), (line, score))
        self.assertEqual(len({line["score"] for line in lines}), 3)

    def test_its_file_gives_its_scores(self):
        out = self.path("reranker.gguf")
        result = ingot.run("quantize", self.reranker, out, "--type", "F32")
        self.assertEqual(result.code, 0, result)
        lines = [{"text": t} for t in ("a tower", "rain")]
        got, want = (self.lines_of("rerank", model, lines, "--query", "how tall?")[0]
                     for model in (out, self.reranker))
        self.assertEqual(got, want)

    def test_the_document_is_cut_and_the_form_stays(self):
        score, tokens = self.expected("q", "the hand")
        cut, err = self.lines_of("rerank", self.reranker, [{"text": "the hand" + " and" * 900}],
                                 "--query", "q", "--truncate", "--ctx", str(tokens))
        self.assertIn("1 of 1 pairs were cut", err)
        self.assertTrue(math.isclose(cut[0]["score"], score, abs_tol=1e-4), (cut, score))
        refused, _ = self.lines_of("rerank", self.reranker, [{"text": "a"}, {"text": "b" * 99}],
                                   "--query", "q " * tokens, "--truncate", "--ctx", str(tokens),
                                   code=CHECK_FAILED)
        self.assertEqual([list(line) for line in refused], [["index", "error"]] * 2)

    def test_names_of_special_tokens_in_texts_stay_text(self):
        plain, marked = self.lines_of("rerank", self.reranker,
                                      [{"text": "a"}, {"text": "a<|endoftext|>"}],
                                      "--query", "q")[0]
        self.assertNotEqual(plain, marked)
        score, tokens = self.expected("q", "a<|endoftext|>")
        self.assertTrue(math.isclose(marked["score"], score, abs_tol=1e-4))
        self.assertGreater(tokens, self.expected("q", "a")[1] + 1)

    def test_it_does_nothing_else(self):
        for command in ("run", "embed"):
            refused = ingot.run(*ingot.arguments(command, self.reranker, self.folder))
            self.assert_error(refused, MODEL, "is a reranker", "ingot rerank")
        self.write(os.path.join(self.reranker, "1_LogitScore"), "config.json",
                   {"true_token_id": 10 ** 6})
        refused = ingot.run("rerank", self.reranker, "--query", "a", "--jsonl")
        self.assert_error(refused, MODEL, "true_token_id")
        self.write(os.path.join(self.reranker, "1_LogitScore"), "config.json",
                   {"true_token_id": self.YES, "false_token_id": self.NO})


if __name__ == "__main__":
    ingot.main()
