#!/usr/bin/env python3
"""Tests ingot bench: the JSON fields and rules that scripts rely on, and equal digests."""
import glob
import itertools
import json
import os
import re
import unittest

import ingot
import model_files
from ingot import CHECK_FAILED, DOES_NOT_FIT, MODEL, SANITIZERS, SHARED, USAGE, run

PEAKS = ("read_gb_s", "f32_gflop_s", "int8_gop_s")
# Little memory means a quick look at the peaks, whose figures are not tested here.
QUICK = ("--memory-limit", "256M")
QUIET = ("--log-level", "warning")  # no line of tensors that embeddings do not need
SMALL = ("--prefill", "9", "--decode", "3", "--reps", "2")
# What no list takes; 0 is possible where it says so.
HOSTILE_LISTS = ("", " ", ",", "1,", ",1", "1,,2", "1;2", "-1", "1.5", "1e3", "0x10", "nan", "x",
                 "1,-1", "134217729", "18446744073709551616", "9" * 400, "\x1b[31m", "١")
if SANITIZERS:
    HOSTILE_LISTS = HOSTILE_LISTS[::3]  # starting takes long there

# The small model: two layers, q, k, v, output, gate, up and down; four query heads of 16 elements,
# two of keys and values in F16. A pair of a row and a key takes 4 operations an element.
HIDDEN, FFN, KV, VOCAB, LAYERS = 64, 128, 32, 320, 2
ROW_WEIGHTS = LAYERS * (2 * HIDDEN * HIDDEN + 2 * HIDDEN * KV + 3 * HIDDEN * FFN)
HEAD = HIDDEN * VOCAB
PAIR = LAYERS * 4 * HIDDEN
KEY_BYTES = LAYERS * 2 * 2 * KV


def encoders():
    """The folders of encoders among the references; none without the shared data."""
    found = []
    for kind in ("embeddings", "rerank"):
        for path in sorted(glob.glob(os.path.join(SHARED, "references", kind, "*"))):
            config = os.path.join(path, "config.json")
            if not os.path.exists(config):
                continue
            with open(config, encoding="utf-8") as file:
                names = str(json.load(file).get("architectures"))
            if "CausalLM" not in names and "Qwen3Model" not in names:
                found.append(path)
    return found


class Bench(ingot.CliTest):
    def bench(self, *more, model=None, **how):
        least = () if "--memory-limit" in more else QUICK
        result = self.assert_done(run("bench", model or self.model, "--json", *least, *more, **how))
        return self.one_json(result)

    def rows(self, *more):
        return [(r["kind"], r["tokens"], r["depth"], r["batch"]) for r in self.bench(*more)["rows"]]

    def test_peaks_alone(self):
        found = self.one_json(self.assert_done(run("bench", "--peaks", "--json")))
        self.assertNotIn("rows", found)
        self.assertEqual(found["isas"][0], "scalar")
        self.assertEqual(found["settings"]["cpu_isa"], found["isas"][-1])
        for name in PEAKS:
            self.assertGreater(found["peaks"]["one_thread"][name], 0)
            self.assertGreater(found["peaks"][name], 0)
        isa = found["settings"]["cpu_isa"]
        for peaks in (found["peaks"], found["peaks"]["one_thread"]):
            self.assertEqual(peaks["bf16_gflop_s"] is not None,
                             isa in ("avx512-bf16", "avx512-amx"))
            self.assertEqual(peaks["int8_tiles_gop_s"] is not None, isa == "avx512-amx")

    @unittest.skipIf(SANITIZERS, "a long look, at what the others look at too")
    def test_peaks_are_those_of_as_many_threads_whether_bound_or_not(self):
        peaks = [self.one_json(self.assert_done(run("bench", "--peaks", "--json", *more)))["peaks"]
                 for more in ((), ("--pin-threads",))]
        self.assertEqual(peaks[0]["threads"], peaks[1]["threads"])
        self.assertEqual(peaks[0]["threads"], len(os.sched_getaffinity(0)))

    @unittest.skipIf(SANITIZERS, "a long look, at what the others look at too")
    def test_peaks_of_one_thread_and_a_chosen_table(self):
        isa = "scalar"
        for _ in range(2):
            found = self.one_json(self.assert_done(
                run("bench", "--peaks", "--json", "--cpu-isa", isa, "--threads", "1")))
            self.assertEqual(found["settings"]["cpu_isa"], isa)
            self.assertEqual(found["settings"]["threads"], 1)
            isa = found["isas"][-1]

    def test_fields(self):
        found = self.bench(*SMALL, "--depth", "17", "--batch", "2", "--threads", "2")
        for name in PEAKS:
            self.assertGreater(found["peaks"][name], 0)
        settings = found["settings"]
        self.assertEqual((settings["device"], settings["numerics"]), ("cpu", "canon-1"))
        self.assertEqual(
            {k: settings[k] for k in ("model", "threads", "kv_type", "ctx", "prefill", "decode",
                                      "depth", "batch", "reps", "shared_prefix")},
            {"model": self.model, "threads": 2, "kv_type": "f16", "ctx": 256, "prefill": [9],
             "decode": [3], "depth": [17], "batch": [2], "reps": 2, "shared_prefix": False})
        self.assertEqual(f"ingot {settings['version']}\n".encode(), run("--version").out)
        self.assertEqual([r["kind"] for r in found["rows"]], ["prefill", "decode"])
        for row in found["rows"]:
            with self.subTest(row=row):
                self.assertEqual((row["depth"], row["batch"]), (17, 2))
                self.assertAlmostEqual(row["tok_s"], 2 * row["tokens"] / row["seconds"], 3)
                self.assertLessEqual(row["tok_s_min"], row["tok_s"])
                self.assertLessEqual(row["tok_s"], row["tok_s_max"])
                self.assertAlmostEqual(row["fraction"], row["ideal_seconds"] / row["seconds"], 6)
                self.assertGreater(row["fraction"], 0)
                self.assertLessEqual(row["fraction"], 1.5)
                self.assertGreater(row["gb_s"], 0)
                self.assertGreater(row["gop_s"], 0)
                self.assertRegex(row["digest"], "^[0-9a-f]{16}$")
                self.assertEqual(len(row["sequence_digests"]), 2)
                self.assertFalse(row["mismatch"])

    def test_cost_of_the_small_model_by_hand(self):
        ops = 3 * 2 * (ROW_WEIGHTS + HEAD) + sum(range(6, 9)) * PAIR  # seeing 6, 7 and 8 keys
        norms = 5 * HIDDEN
        read = 3 * 4 * (ROW_WEIGHTS + HEAD + norms + HIDDEN) + sum(range(6, 9)) * KEY_BYTES
        row, = self.bench("--prefill", "0", "--decode", "3", "--depth", "5", "--reps", "1")["rows"]
        self.assertAlmostEqual(row["gop_s"] * row["seconds"] * 1e9 / ops, 1, 6)
        self.assertAlmostEqual(row["gb_s"] * row["seconds"] * 1e9 / read, 1, 6)

    def test_work_in_bfloat16_is_bound_by_tiles_or_else_by_floats(self):
        found = self.bench("--prefill", "64", "--decode", "0", "--reps", "1", "--weights", "bf16")
        peaks, (row,) = found["peaks"], found["rows"]
        self.assertEqual(found["settings"]["kv_type"], "bf16")
        ops = 2 * (64 * ROW_WEIGHTS + HEAD) + sum(range(1, 65)) * PAIR
        read = 2 * (ROW_WEIGHTS + HEAD + 64 * HIDDEN) + 4 * 5 * HIDDEN + 64 * KEY_BYTES
        rate = peaks["bf16_gflop_s"] or peaks["f32_gflop_s"]
        ideal = max(read / peaks["read_gb_s"], ops / rate) / 1e9
        self.assertAlmostEqual(row["ideal_seconds"] / ideal, 1, 3)

    def test_lists_make_every_combination(self):
        decode = [("decode", t, d, b) for t, d, b in itertools.product((2, 3), (0, 17), (1, 2))]
        lists = ("--decode", "2,3", "--depth", "0,17", "--batch", "1,2", "--reps", "1")
        self.assertEqual(self.rows("--prefill", "5,9", *lists),
                         [("prefill", 5, 0, 1), ("prefill", 9, 0, 1)] + decode)
        self.assertEqual(self.rows("--prefill", "0", *lists), decode)

    def test_prefill_has_a_depth_and_a_batch_where_both_are_single(self):
        none = ("--decode", "0", "--reps", "1", "--prefill", "5")
        self.assertEqual(self.rows(*none, "--depth", "17", "--batch", "2"), [("prefill", 5, 17, 2)])
        self.assertEqual(self.rows(*none, "--depth", "17,18", "--batch", "2"),
                         [("prefill", 5, 0, 1)])
        self.assertEqual(self.rows(*none, "--depth", "17", "--batch", "2,2"),
                         [("prefill", 5, 0, 1)])

    def test_what_is_not_said(self):
        found = self.bench("--prefill", "4", "--decode", "2")
        self.assertEqual((found["settings"]["reps"], found["peaks"]["rounds"]), (5, 5))
        self.assertEqual([(r["depth"], r["batch"]) for r in found["rows"]], [(0, 1), (0, 1)])
        long = self.file("long.gguf", model_files.tiny_gguf().set(
            "llama.context_length", model_files.UINT32, 1024).build())
        rows = self.bench("--reps", "1", model=long)["rows"]
        self.assertEqual([(r["kind"], r["tokens"]) for r in rows],
                         [("prefill", 512), ("decode", 128)])

    def test_digests_are_equal_whatever_computes_them(self):
        lists = ("--prefill", "9", "--decode", "3", "--depth", "0,33", "--batch", "1,3")
        first = self.bench(*lists, "--threads", "1", "--reps", "1")
        others = [("--threads", "2"), ("--threads", "3"), ("--ctx", "200")]
        others += [("--cpu-isa", isa) for isa in first["isas"]]
        for more in others:
            with self.subTest(more=more):
                again = self.bench(*lists, *more, "--reps", "1")
                self.assertEqual([r["digest"] for r in again["rows"]],
                                 [r["digest"] for r in first["rows"]])
        other = self.bench(*lists, "--kv-type", "f32", "--reps", "1")
        self.assertNotEqual([r["digest"] for r in other["rows"]],
                            [r["digest"] for r in first["rows"]])

    def test_a_sequence_does_not_depend_on_its_batch(self):
        rows = self.bench("--prefill", "0", "--decode", "4", "--depth", "21", "--batch", "1,2,5",
                          "--reps", "1")["rows"]
        one, two, five = (r["sequence_digests"] for r in rows)
        self.assertEqual(rows[0]["digest"], one[0])
        self.assertEqual(two[:1], one)
        self.assertEqual(five[:2], two)
        self.assertEqual(len(set(five)), 5)

    def test_a_shared_prefix(self):
        lists = ("--prefill", "4", "--decode", "4", "--depth", "40", "--batch", "3", "--reps", "2")
        own = self.bench(*lists)["rows"]
        shared = self.bench(*lists, "--shared-prefix")["rows"]
        for a, b in zip(own, shared):
            self.assertEqual(a["sequence_digests"][0], b["sequence_digests"][0])
            self.assertNotEqual(a["sequence_digests"][1], b["sequence_digests"][1])
            self.assertEqual(len(set(b["sequence_digests"])), 3)

    def test_a_window_slides_over_the_depth(self):
        model = model_files.tiny_gguf()
        model.set("llama.attention.sliding_window", model_files.UINT32, 8)
        path = self.file("window.gguf", model.build())
        args = ("--prefill", "40", "--decode", "40", "--depth", "30", "--batch", "2")
        first = self.bench(*args, "--reps", "2", model=path)["rows"]
        whole = self.bench(*args, "--reps", "1")["rows"]
        self.assertNotEqual([r["digest"] for r in first], [r["digest"] for r in whole])
        for row, keys in ((first[1], 40 * 8), (whole[1], sum(range(31, 71)))):
            ops = 2 * (40 * 2 * (ROW_WEIGHTS + HEAD) + keys * PAIR)
            self.assertAlmostEqual(row["gop_s"] * row["seconds"] * 1e9 / ops, 1, 6)

    def test_text_and_markdown(self):
        args = ("bench", self.model, *SMALL, *QUICK)
        text = self.assert_done(run(*args)).out.decode()
        self.assertIn("cpu_isa", text)
        self.assertRegex(text, "(?m)^all threads( +[0-9.]+){3}( +([0-9.]+|none)){2}$")
        self.assertRegex(text, r"(?m)^prefill +9 +0 +1( +[0-9.]+){4} +[0-9a-f]{16}$")
        self.assertRegex(text, r"(?m)^decode +3 +0 +1( +[0-9.]+){4} +[0-9a-f]{16}$")
        markdown = self.assert_done(run(*args, "--markdown")).out.decode()
        tables = [line for line in markdown.split("\n") if line.startswith("|")]
        self.assertEqual(len(tables), 3 + 1 + 3 + 1)
        self.assertRegex(tables[5], r"^\| -+ \|( -+: \|){8}$")
        self.assertEqual(re.sub("[| ]+", " ", tables[-1]).split()[:4], ["decode", "3", "0", "1"])

    def test_a_profile_tells_where_the_time_went(self):
        args = ("--prefill", "9", "--decode", "3", "--depth", "17", "--batch", "2", "--reps", "2")
        plain, found = self.bench(*args), self.bench(*args, "--profile")
        self.assertNotIn("profile", plain)
        self.assertEqual([plain["settings"]["profile"], found["settings"]["profile"]],
                         [False, True])
        self.assertEqual([r["digest"] for r in found["rows"]], [r["digest"] for r in plain["rows"]])
        self.assertEqual([(p["kind"], p["steps"], p["rows"]) for p in found["profile"]],
                         [("prefill", 2, 2 * 18), ("decode", 2 * 3, 2 * 3 * 2)])
        for row, profile in zip(found["rows"], found["profile"]):
            self.assertEqual((profile["tokens"], profile["depth"], profile["batch"]),
                             (row["tokens"], 17, 2))
            self.assertNotIn("layers", profile)
            ops = {op["op"]: op for op in profile["ops"]}
            self.assertEqual(list(ops), ["embed", "norm", "linear", "rope", "kv_write", "attention",
                                         "activate", "gather", "logits"])
            steps, rows = profile["steps"], profile["rows"]
            for name, calls in (("embed", 1), ("linear", 4 * LAYERS), ("attention", LAYERS)):
                self.assertEqual((ops[name]["calls"], ops[name]["rows"]),
                                 (calls * steps, calls * rows))
            self.assertEqual(ops["logits"]["rows"], 2 * steps)
            self.assertAlmostEqual(profile["op_seconds"],
                                   sum(op["seconds"] for op in ops.values()), 9)
            self.assertLessEqual(profile["op_seconds"], profile["seconds"])
            self.assertAlmostEqual(ops["linear"]["share"],
                                   ops["linear"]["seconds"] / profile["seconds"], 6)
            shapes = {(w["outputs"], w["inputs"]): w["calls"] for w in profile["linears"]}
            self.assertEqual(shapes, {(HIDDEN + 2 * KV, HIDDEN): LAYERS * steps,
                                      (HIDDEN, HIDDEN): LAYERS * steps,
                                      (2 * FFN, HIDDEN): LAYERS * steps,
                                      (HIDDEN, FFN): LAYERS * steps})

    def test_a_profile_by_layer(self):
        found = self.bench(*SMALL, "--profile-layers")
        for profile in found["profile"]:
            self.assertEqual(len(profile["layers"]), LAYERS)
            parts = profile["layers"] + [profile["outside_layers"]]
            self.assertAlmostEqual(sum(p["step_seconds"] for p in parts) * profile["steps"],
                                   profile["op_seconds"], 9)
            for layer in profile["layers"]:
                self.assertGreater(layer["ops"]["attention"], 0)
                self.assertNotIn("embed", layer["ops"])
            self.assertIn("logits", parts[-1]["ops"])

    def test_a_profile_as_text_and_markdown(self):
        args = ("bench", self.model, *SMALL, *QUICK)
        text = self.assert_done(run(*args, "--profile")).out.decode()
        self.assertRegex(text,
                         "(?m)^prefill 9, depth 0, batch 1 +calls +rows +ms +us a step +share$")
        self.assertRegex(text, r"(?m)^linear +48 +48( +[0-9.]+){3}$")  # 2 times 3 steps of 8
        self.assertRegex(text, r"(?m)^- 256 x 64 +12 +12( +[0-9.]+){3}$")
        self.assertRegex(text, r"(?m)^steps +6 +6( +[0-9.]+){2} +1\.000$")
        self.assertNotIn("layer 0", text)
        text = self.assert_done(run(*args, "--profile-layers")).out.decode()
        self.assertEqual(len(re.findall(r"(?m)^layer [01]( +[0-9.]+){10}$", text)), 4)
        self.assertEqual(len(re.findall(r"(?m)^outside( +[0-9.]+){10}$", text)), 2)
        markdown = self.assert_done(run(*args, "--profile", "--markdown")).out.decode()
        self.assertRegex(markdown, r"(?m)^\| linear +\| +48 \| +48 \|")

    @unittest.skipUnless(encoders(), "there are no reference encoders")
    def test_an_encoder_embeds_texts_in_any_batch(self):
        costs = 0
        for path in encoders():
            with self.subTest(path=path):
                # One model runs twice, which finds results that differ between runs.
                reps = "2" if path == encoders()[0] else "1"
                lists = ("--prefill", "5,9", "--batch", "1,3", "--reps", reps)
                rows = self.bench(*lists, *QUIET, model=path)["rows"]
                self.assertEqual([(r["kind"], r["tokens"], r["batch"]) for r in rows],
                                 [("embed", t, b) for t in (5, 9) for b in (1, 3)])
                self.assertNotEqual(rows[0]["digest"], rows[2]["digest"])
                for alone, three in zip(rows[::2], rows[1::2]):
                    self.assertFalse(alone["mismatch"] or three["mismatch"])
                    self.assertEqual(three["sequence_digests"][0], alone["digest"])
                    self.assertEqual(len(set(three["sequence_digests"])), 3)
                costs += self.check_encoder_cost(path, rows[3])
        self.assertGreater(costs, 0)

    def check_encoder_cost(self, path, row):
        """Counts the operations of three texts of 9 tokens by hand; False for other encoders."""
        with open(os.path.join(path, "config.json"), encoding="utf-8") as file:
            config = json.load(file)
        if config["model_type"] not in ("bert", "roberta", "xlm-roberta"):
            return False
        if "ForSequenceClassification" in str(config.get("architectures")):
            return False  # its head computes as well
        hidden, layers = config["hidden_size"], config["num_hidden_layers"]
        weights = layers * hidden * (4 * hidden + 2 * config["intermediate_size"])
        ops = 3 * (9 * 2 * weights + 9 * 9 * layers * 4 * hidden)
        self.assertAlmostEqual(row["gop_s"] * row["seconds"] * 1e9 / ops, 1, 6)
        return True

    @unittest.skipUnless(encoders(), "there are no reference encoders")
    def test_an_encoder_continues_no_text(self):
        path = encoders()[0]
        for option in (("--decode", "3"), ("--depth", "5"), ("--shared-prefix",)):
            result = run("bench", path, *QUICK, *QUIET, *option)
            self.assertIn(option[0], self.assert_error(result, USAGE))
        self.assert_error(run("bench", path, *QUICK, *QUIET, "--prefill", "0"), USAGE)

    def test_errors_of_usage(self):
        for args in ((self.model, "--peaks"),
                     ("--peaks", "--prefill", "5"), ("--peaks", "--reps", "2"),
                     ("--peaks", "--shared-prefix"), ("--peaks", "--profile"),
                     ("--peaks", "--profile-layers"), (self.model, "--json", "--markdown"),
                     (self.model, "--prefill", "0", "--decode", "0"),
                     (self.model, "--reps", "0"), (self.model, "--reps", "1001"),
                     (self.model, "--batch", "0"), (self.model, "--batch", "4097"),
                     (self.model, "--decode", ",".join(["1"] * 65)),
                     (self.model, "--decode", ",".join(["1"] * 64), "--depth",
                      ",".join(["0"] * 32)),
                     ("--peaks", "--device", "cpu"), ("--peaks", "--numerics", "canon"),
                     ("--peaks", "--cpu-isa", "sse"), ("--peaks", "--threads", "0"),
                     ("--peaks", "--memory-limit", "x"), ("--peaks", "--log-level", "x")):
            with self.subTest(args=args):
                self.assert_error(run("bench", *args), USAGE)

    def test_hostile_lists(self):
        for option in ("--prefill", "--decode", "--depth", "--batch"):
            for value in HOSTILE_LISTS:
                with self.subTest(option=option, value=value):
                    line = self.assert_error(run("bench", self.model, f"{option}={value}"), USAGE)
                    self.assertIn(option, line)

    def test_a_wrong_list_is_refused_before_the_model_is_opened(self):
        for option in ("--prefill", "--decode", "--depth", "--batch"):
            with self.subTest(option=option):
                line = self.assert_error(run("bench", self.path("absent"), f"{option}=x"), USAGE)
                self.assertIn(option, line)

    def test_too_many_combinations_are_refused_before_the_model_is_opened(self):
        ones, many = ",".join(["1"] * 64), ",".join(["1"] * 17)
        for args in (("--decode", ones, "--depth", "0," * 16 + "0"),
                     ("--depth", ones, "--batch", many),
                     ("--prefill", ones, "--batch", many, "--decode", ones)):
            with self.subTest(args=args):
                line = self.assert_error(run("bench", self.path("absent"), *args), USAGE)
                self.assertIn("combinations", line)
        # A decoder has 64 combinations of these, an encoder 1088: the model decides.
        self.assert_error(run("bench", self.path("absent"), "--prefill", ones, "--batch", many),
                          MODEL)

    def test_more_than_the_context(self):
        line = self.assert_error(run("bench", self.model, "--prefill", "257"), USAGE)
        self.assertIn("257", line)
        self.assertIn("256", line)
        self.assert_error(run("bench", self.model, "--prefill", "0", "--decode", "100", "--depth",
                              "157"), USAGE)
        self.assertEqual(self.bench("--prefill", "0", "--decode", "100", "--depth", "156", "--reps",
                                    "1")["rows"][0]["tokens"], 100)

    def test_more_than_memory(self):
        line = self.assert_error(
            run("bench", self.model, "--prefill", "0", "--decode", "1", "--depth", "100000000",
                "--batch", "4096", "--ctx", "134217728", "--log-level", "error"), DOES_NOT_FIT)
        self.assertIn("bytes", line)
        self.assert_error(run("bench", self.model, *SMALL, "--memory-limit", "1K"), DOES_NOT_FIT)
        small = self.bench(*SMALL, "--memory-limit", "64M")
        # A quarter of what the model leaves.
        self.assertLess(small["peaks"]["read_bytes"], 16 << 20)

    @unittest.skipIf(SANITIZERS, "a long look, at what the others look at too")
    def test_peaks_go_round_with_some_of_many_rows(self):
        found = self.bench("--prefill", "0", "--decode", "2", "--reps", "17")
        self.assertEqual(found["peaks"]["rounds"], 9)
        for name in PEAKS:
            self.assertGreaterEqual(found["peaks"][name], found["peaks"]["one_thread"][name])

    def test_more_keys_than_a_cache_can_number(self):
        line = self.assert_error(
            run("bench", self.model, "--prefill", "0", "--decode", "1", "--depth", "2000000",
                "--batch", "4096", "--ctx", "3000000", "--memory-limit", "1048576G",
                "--log-level", "error"), DOES_NOT_FIT)
        self.assertIn("sequences", line)

    def test_models_that_cannot_be_opened_or_computed(self):
        for path in ("", self.path("absent.gguf")):
            self.assert_error(run("bench", path), MODEL)
        model = model_files.tiny_gguf()
        norm = model.tensor("output_norm.weight")
        norm[3] = model_files.NAN + norm[3][4:]
        path = self.file("nan.gguf", model.build())
        line = self.assert_error(run("bench", path, *SMALL), CHECK_FAILED)
        self.assertIn("NaN", line)

    def test_json_holds_on_one_line_with_awkward_names(self):
        path = self.file("a\nb.gguf", model_files.tiny_gguf().build())
        found = self.one_json(self.assert_done(run("bench", path, *SMALL, *QUICK, "--json")))
        self.assertEqual(found["settings"]["model"], path)
        text = self.assert_done(run("bench", path, *SMALL, *QUICK)).out.decode()
        self.assertIn(json.dumps(path), text)


if __name__ == "__main__":
    ingot.main()
