#!/usr/bin/env python3
"""Tests ingot bench serve-inproc: fields agree with each other and with the options, results under
load equal those of single requests, and bad options and traces are refused."""
import json
import os
import re
import unittest

import ingot
import model_files
from ingot import CHECK_FAILED, DOES_NOT_FIT, MODEL, SANITIZERS, SHARED, USAGE, run

SMALL = ("--requests", "6", "--input-len", "8:20", "--output-len", "3:9")
LATENCIES = ("ttft", "queue", "tpot", "itl", "e2el")
STATISTICS = ("mean", "median", "std", "p50", "p90", "p99")
CONTEXT = 256  # tokens of the small model
AZURE = "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"


def azure(*rows):
    """A trace of rows (second, input, output)."""
    lines = (f"2023-11-16 18:17:{s:010.7f},{i},{o}\r\n" for s, i, o in rows)
    return (AZURE + "".join(lines)).encode()


def mooncake(*rows):
    """A trace of rows (millisecond, input, output, block ids)."""
    keys = ("timestamp", "input_length", "output_length", "hash_ids")
    return "".join(json.dumps(dict(zip(keys, row))) + "\n" for row in rows).encode()


class ServeInproc(ingot.CliTest):
    def serve(self, *more, model=None):
        return run("bench", "serve-inproc", model or self.model, *more)

    def found(self, *more, **how):
        found = self.one_json(self.assert_done(self.serve("--json", *more, **how)))
        self.check_fields(found)
        return found

    def check_fields(self, found):
        """What holds whatever was measured."""
        duration = found["duration"]
        self.assertGreater(duration, 0)
        self.assertAlmostEqual(found["request_throughput"] * duration, found["completed"], 6)
        self.assertAlmostEqual(found["output_throughput"] * duration,
                               found["total_output_tokens"], 4)
        self.assertAlmostEqual(found["total_token_throughput"] * duration,
                               found["total_input_tokens"] + found["total_output_tokens"], 4)
        self.assertEqual(found["errors"], found["busy"] + found["failed"])
        self.assertEqual(found["errors"] + found["completed"], found["settings"]["requests"])
        self.assertEqual(found["mismatches"], 0)
        self.assertTrue(0 <= found["cache_hit_rate"] <= 1)
        self.assertGreaterEqual(found["preemptions"], 0)
        self.assertGreater(found["steps"], 0)
        self.assertGreaterEqual(found["mean_step_rows"], 1)
        self.assertLessEqual(found["max_stall_ms"], duration * 1e3)
        # A checked request computes all of its prompt.
        self.assertEqual(found["checked_cached_tokens"], 0)
        for name in LATENCIES:
            values = {s: found[f"{s}_{name}_ms"] for s in STATISTICS}
            self.assertEqual(values["median"], values["p50"])
            self.assertLessEqual(values["p50"], values["p90"])
            self.assertLessEqual(values["p90"], values["p99"])
            self.assertGreaterEqual(min(values.values()), 0)
        self.assertLessEqual(found["mean_queue_ms"], found["mean_ttft_ms"])
        self.assertLessEqual(found["mean_ttft_ms"], found["mean_e2el_ms"])
        self.assertLessEqual(found["p99_e2el_ms"], duration * 1e3)

    def test_all_at_once(self):
        found = self.found(*SMALL)
        self.assertEqual((found["completed"], found["errors"], found["checked"]), (6, 0, 6))
        self.assertEqual((found["cut_prompts"], found["cut_outputs"]), (0, 0))
        self.assertTrue(6 * 8 <= found["total_input_tokens"] <= 6 * 20)
        self.assertTrue(6 * 3 <= found["total_output_tokens"] <= 6 * 9)
        self.assertIsNone(found["request_goodput"])
        self.assertGreater(found["mean_tpot_ms"], 0)

    def test_settings(self):
        settings = self.found(*SMALL, "--rate", "1000", "--burstiness", "0.5", "--seed", "7",
                              "--shared-prefix", "5", "--kv-type", "f32", "--threads", "1",
                              "--sequences", "2", "--step-rows", "16", "--temperature", "0.5",
                              "--cpu-isa", "scalar", "--queue", "9", "--check", "2")["settings"]
        expected = {"model": self.model, "threads": 1, "cpu_isa": "scalar", "device": "cpu",
                    "numerics": "canon-1", "kv_type": "f32",
                    "ctx": CONTEXT, "sequences": 2, "step_rows": 16, "requests": 6, "trace": None,
                    "rate": "1000", "burstiness": 0.5, "input_len": "8:20", "output_len": "3:9",
                    "shared_prefix": 5, "concurrency": None, "seed": 7, "temperature": 0.5,
                    "queue": 9, "check": 2, "goodput": []}
        self.assertEqual({name: settings[name] for name in expected}, expected)
        self.assertEqual(f"ingot {settings['version']}\n".encode(), run("--version").out)

    def test_what_is_not_said(self):
        found = self.found("--output-len", "2", "--check", "0")
        self.assertEqual((found["completed"], found["checked"]), (64, 0))
        self.assertEqual(found["total_input_tokens"], 64 * 128)
        self.assertEqual(found["total_output_tokens"], 64 * 2)

    def test_the_built_in_model(self):
        result = run("bench", "serve-inproc", "--json", "--requests", "3", "--output-len", "8")
        self.assertIn("ingot-demo", result.err)
        found = self.one_json(result)
        self.check_fields(found)
        self.assertEqual((found["completed"], found["checked"]), (3, 3))

    def test_a_closed_loop(self):
        found = self.found(*SMALL, "--concurrency", "2")
        self.assertEqual(found["completed"], 6)
        self.assertEqual(found["settings"]["sequences"], 2)

    def test_a_shared_prefix_is_found_by_those_who_come_later(self):
        # One after the other: all but the first find its two full blocks.
        args = ("--requests", "5", "--input-len", "20", "--output-len", "3", "--concurrency", "1")
        found = self.found(*args, "--shared-prefix", "40", "--check", "5")
        self.assertEqual(found["cache_hit_rate"], 4 * 32 / (5 * 60))
        self.assertEqual(found["steps"], 5 * 3)
        self.assertEqual(found["mean_step_rows"], (60 + 4 * 28 + 5 * 2) / 15)
        self.assertEqual(self.found(*args)["cache_hit_rate"], 0)

    def test_tokens_do_not_depend_on_how_requests_come(self):
        totals = {(f["total_input_tokens"], f["total_output_tokens"]) for f in (
            self.found(*SMALL, *more) for more in (
                (), ("--rate", "500"), ("--concurrency", "1"), ("--threads", "1")))}
        self.assertEqual(len(totals), 1)
        other = self.found(*SMALL, "--seed", "1")
        self.assertNotIn((other["total_input_tokens"], other["total_output_tokens"]), totals)

    def test_under_pressure_and_drawn_the_bits_are_the_same(self):
        # Ten at a time, with room for the keys and values of two.
        found = self.found("--requests", "20", "--input-len", "20:60", "--output-len", "20:60",
                           "--temperature", "1", "--shared-prefix", "20", "--sequences", "10",
                           "--kv-tokens", "280", "--check", "20")
        self.assertEqual((found["completed"], found["checked"]), (20, 20))
        self.assertGreater(found["preemptions"], 0)
        self.assertLessEqual(found["settings"]["kv_tokens"], 280)

    def test_without_a_prefix_cache_nothing_is_taken_over(self):
        flags = ["--requests", "4", "--input-len", "20", "--output-len", "4", "--shared-prefix",
                 "64", "--concurrency", "1", "--target-itl-ms", "5"]
        self.assertGreater(self.found(*flags)["cache_hit_rate"], 0.5)
        cold = self.found(*flags, "--no-prefix-cache")
        self.assertEqual(cold["cache_hit_rate"], 0)
        self.assertEqual(cold["settings"]["prefix_cache"], False)
        self.assertEqual(cold["settings"]["target_itl_ms"], 5)

    def test_a_full_queue(self):
        found = self.found("--requests", "9", "--input-len", "5", "--output-len", "4", "--queue",
                           "3", "--sequences", "2", "--check", "9")
        self.assertEqual((found["completed"], found["busy"], found["failed"]), (5, 4, 0))
        self.assertEqual(found["checked"], 5)

    def test_goodput(self):
        all_good = self.found(*SMALL, "--goodput", "ttft:1e9", "tpot:1000000000", "e2el:1e9")
        self.assertEqual(all_good["request_goodput"], all_good["request_throughput"])
        none = self.found(*SMALL, "--goodput", "ttft:1e9", "--goodput", "e2el:0")
        self.assertEqual(none["request_goodput"], 0)
        self.assertEqual(none["settings"]["goodput"], ["ttft:1e9", "e2el:0"])

    def test_an_azure_trace(self):
        path = self.file("azure.csv", azure((0, 10, 3), (0.25, 20, 4), (50, 30, 5)))
        found = self.found("--trace", path, "--speedup", "1000")
        self.assertEqual(found["total_input_tokens"], 60)
        self.assertEqual(found["total_output_tokens"], 12)
        self.assertGreaterEqual(found["duration"], 0.05)
        settings = found["settings"]
        self.assertEqual((settings["trace"], settings["speedup"], settings["length_scale"]),
                         (path, 1000, 1))
        two = self.found("--trace", path, "--requests", "2")
        self.assertEqual(two["total_input_tokens"], 30)
        self.assertGreaterEqual(two["duration"], 0.25)
        half = self.found("--trace", path, "--length-scale", "0.5", "--concurrency", "1")
        self.assertEqual(half["total_input_tokens"], 5 + 10 + 15)

    def test_a_trace_on_stdin(self):
        path = self.file("azure.csv", azure((0, 10, 3)))
        with open(path, "rb") as stdin:
            found = self.one_json(self.assert_done(
                run("bench", "serve-inproc", self.model, "--json", "--trace", "-", stdin=stdin)))
        self.assertEqual(found["total_input_tokens"], 10)

    def test_a_mooncake_trace(self):
        path = self.file("mooncake.jsonl", mooncake(
            (0, 1000, 4, [1, 2]), (10, 700, 2, [1, 3]), (10, 5, 1, [4])))
        result = self.serve("--trace", path, "--json", "--length-scale", "0.1")
        found = self.one_json(self.assert_done(result))
        self.check_fields(found)
        self.assertEqual(found["total_input_tokens"], 100 + 70 + 1)
        self.assertEqual(result.err, "")

    def test_what_is_longer_than_the_context_is_cut_and_said(self):
        path = self.file("long.csv", azure((0, 10, 3), (0, 300, 10), (0, 9, 5000), (0, 400, 400)))
        result = self.assert_done(self.serve("--trace", path, "--json"))
        found = self.one_json(result)
        self.assertEqual((found["cut_prompts"], found["cut_outputs"]), (2, 2))
        self.assertEqual(found["total_input_tokens"], 10 + 246 + 9 + 128)
        self.assertEqual(found["total_output_tokens"], 3 + 10 + 247 + 128)
        self.assertIn("2 prompts and 2 outputs of 4 requests", result.err)
        line = self.assert_done(self.serve("--trace", path, "--json", "--ctx", "100"))
        self.assertEqual(self.one_json(line)["total_input_tokens"], 10 + 90 + 9 + 50)

    @unittest.skipUnless(os.path.isdir(os.path.join(SHARED, "data/workload")), "no shared data")
    def test_published_traces(self):
        paths = [os.path.join(SHARED, "data/workload", folder, name)
                 for folder in ("azure", "mooncake")
                 for name in sorted(os.listdir(os.path.join(SHARED, "data/workload", folder)))
                 if name.endswith((".csv", ".jsonl"))]
        self.assertGreaterEqual(len(paths), 2)
        for path in paths:
            with self.subTest(path=path):
                found = self.found("--trace", path, "--requests", "6", "--length-scale", "0.002",
                                   "--speedup", "1e6")
                self.assertEqual((found["completed"], found["checked"]), (6, 6))

    def test_traces_that_are_damaged(self):
        good = azure((0, 10, 3), (1, 20, 4))
        for content, line in ((b"", 1), (b"\n\n", 2), (AZURE.encode(), 1), (b"no trace\n", 1),
                              (good + b"2023-11-16 18:17", 4), (good + b"\x00\xff,1,2", 4),
                              (good[:-3] + b"x\r\n", 3), (b'{"timestamp": 0', 1),
                              (mooncake((0, 5, 5, [1])) + b"[]\n", 2),
                              (mooncake((0, 513, 5, [1])), 1), (b"{" * 100000, 1)):
            with self.subTest(content=content[-40:]):
                path = self.file("bad.csv", content)
                error = self.assert_model_error(self.serve("--trace", path), path)
                self.assertIn(f"{path}: line {line} @", error)
        for path in ("", self.path("absent.csv"), self.folder):
            self.assert_error(self.serve("--trace", path), MODEL)

    def test_text_and_markdown(self):
        text = self.assert_done(self.serve(*SMALL)).out.decode()
        self.assertRegex(text, r'^version "[^"]+"; model ')
        self.assertRegex(text, r"(?m)^completed +6$")
        self.assertRegex(text, r"(?m)^ttft( +[0-9.]+){5}$")
        markdown = self.assert_done(self.serve(*SMALL, "--markdown")).out.decode()
        self.assertRegex(markdown, r"(?m)^\| mismatches +\| +0 \|$")
        self.assertRegex(markdown, r"(?m)^\| -+ \| -+: \|$")

    def test_errors_of_usage(self):
        for args in (("--rate", "0"), ("--rate", "nan"), ("--rate", "-inf"), ("--rate", ""),
                     ("--requests", "0"), ("--requests", "1.5"), ("--concurrency", "0"),
                     ("--concurrency", "2", "--rate", "3"), ("--speedup", "2"),
                     ("--length-scale", "2"), ("--trace", "x", "--rate", "3"),
                     ("--trace", "x", "--input-len", "3"), ("--trace", "x", "--shared-prefix", "3"),
                     ("--input-len", "0"), ("--input-len", "5:4"), ("--input-len", "1:2:3"),
                     ("--output-len", ":"), ("--output-len", "4:"), ("--output-len", "x"),
                     ("--burstiness", "0"), ("--goodput", "ttft"), ("--goodput", "itl:3"),
                     ("--goodput", "ttft:1", "ttft:2"), ("--goodput", "ttft:-1"), ("--goodput",),
                     ("--check", "-1"), ("--sequences", "0"), ("--step-rows", "0"),
                     ("--kv-tokens", "0"), ("--queue", "0"), ("--seed", "-1"),
                     ("--temperature", "nan"), ("--json", "--markdown"), ("--ctx", "1"),
                     ("--ctx", "0"), ("--threads", "0"), ("--kv-type", "int4"),
                     ("--cpu-isa", "sse"), ("--log-level", "loud"), ("--prefill", "3"), ("extra",)):
            with self.subTest(args=args):
                self.assert_error(self.serve(*args), USAGE)

    def test_what_stands_before_the_command(self):
        for args in ((self.model, "serve-inproc"), ("--json", "serve-inproc"),
                     ("--reps", "2", "serve-inproc", self.model),
                     (self.model, "serve-inproc", self.model)):
            with self.subTest(args=args):
                self.assertIn("serve-inproc", self.assert_error(run("bench", *args), USAGE))

    def test_help_has_an_example_of_its_own(self):
        *_, codes, example = run("bench", "serve-inproc", "--help").out.decode().split("\n")[:-1]
        self.assertTrue(example.startswith("Example: ingot bench serve-inproc "), example)
        self.assertIn("143 terminated", codes)

    def test_models_that_cannot_be_opened_computed_or_held(self):
        self.assert_error(self.serve(model=self.path("absent.gguf")), MODEL)
        self.assert_error(self.serve(*SMALL, "--memory-limit", "1K"), DOES_NOT_FIT)
        model = model_files.tiny_gguf()
        norm = model.tensor("output_norm.weight")
        norm[3] = model_files.NAN + norm[3][4:]
        result = self.serve(*SMALL, "--json", model=self.file("nan.gguf", model.build()))
        found = json.loads(result.out)
        self.assertEqual((found["completed"], found["failed"]), (0, 6))
        self.assert_error(result, CHECK_FAILED, "6 requests failed", "NaN", out=result.out)

    def test_where_memory_is_short_less_runs_at_once(self):
        args = ("--requests", "30", "--input-len", "100", "--output-len", "20", "--check", "3")
        limit = next(m for m in range(1, 64) if self.serve(
            *args, "--memory-limit", f"{m}M").code == 0) if not SANITIZERS else 64
        found = self.found(*args, "--memory-limit", f"{limit}M")
        self.assertEqual((found["completed"], found["checked"]), (30, 3))


if __name__ == "__main__":
    ingot.main()
