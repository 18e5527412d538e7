#!/usr/bin/env python3
"""Tests --trace and --step-trace: the trace file agrees with the printed figures, and is valid for
trace viewers even if the command is interrupted."""
import contextlib
import errno
import json
import os
import signal
import subprocess

import chat_model
import faults
import ingot
import model_files
from ingot import CHECK_FAILED, DONE, IO, USAGE, run

PHASES = ("plan", "forward", "sample", "deliver", "commit")


class Trace:
    """A trace, read back."""

    def __init__(self, path):
        with open(path, "rb") as f:
            self.json = json.load(f)
        self.events = self.json["traceEvents"]

    def named(self, name, phase="X"):
        return [e for e in self.events if (e["ph"], e["name"]) == (phase, name)]

    def steps(self):
        return [e["args"] for e in self.named("step")]

    def total(self, what):
        return sum(step[what] for step in self.steps())


class Traces(ingot.CliTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.chat = cls.file("chat.gguf", chat_model.chat_model().build())

    def setUp(self):
        self.trace = self.path("trace.json")
        with contextlib.suppress(FileNotFoundError):
            os.remove(self.trace)

    def traced(self, *args, code=DONE, **how):
        result = run(*args, "--trace", self.trace, **how)
        self.assertEqual(result.code, code, result)
        return result, Trace(self.trace)

    def test_a_step_for_each_token(self):
        plain = self.generate()
        result, trace = self.traced("run", self.model, "--tokens", "1,283,289", "--json",
                                    "--max-tokens", "8", "--draft", "off")
        found = json.loads(result.out)
        self.assertEqual((found["ids"], found["digest"]), (plain["ids"], plain["digest"]))
        self.assertEqual(len(trace.steps()), len(found["ids"]))
        self.assertEqual([s["number"] for s in trace.steps()], list(range(1, 9)))
        self.assertEqual(trace.total("prefill_rows"), 3)
        self.assertEqual(trace.total("decode_rows"), 7)
        self.assertEqual(trace.total("output_rows"), 8)
        for phase in PHASES:
            self.assertEqual(len(trace.named(phase)), 8, phase)
        self.assertEqual(trace.named("linear"), [])
        (begin,), (end,) = trace.named("request", "b"), trace.named("request", "e")
        self.assertEqual(begin["args"]["prompt_tokens"], 3)
        self.assertEqual(end["args"]["generated_tokens"], 8)
        self.assertEqual(len(trace.named(found["finish_reason"], "n")), 1)
        self.assertEqual(trace.json["otherData"]["dropped_records"], 0)

    def test_profile_adds_ops_within_the_forward(self):
        plain = self.generate()
        result, trace = self.traced("run", self.model, "--tokens", "1,283,289", "--json",
                                    "--max-tokens", "8", "--profile", "--draft", "off")
        self.assertEqual(json.loads(result.out)["digest"], plain["digest"])
        for op in ("embed", "norm", "linear", "rope", "kv_write", "attention", "logits"):
            self.assertEqual(len(trace.named(op)), 8, op)
        forward = trace.named("forward")
        for i, linear in enumerate(trace.named("linear")):
            self.assertGreaterEqual(linear["ts"], forward[i]["ts"])
            self.assertLessEqual(linear["ts"] + linear["dur"],
                                 forward[i]["ts"] + forward[i]["dur"] + 0.001)

    def test_lines_are_requests(self):
        lines = "".join(json.dumps({"prompt_ids": [1, i], "max_tokens": 2 + i}) + "\n"
                        for i in range(5))
        result, trace = self.traced("run", self.model, "--jsonl", "--ignore-eos", "--draft", "off",
                                    **self.stdin(lines))
        self.assertEqual(result.out.count(b"\n"), 5)
        self.assertEqual(len(trace.named("request", "b")), 5)
        self.assertEqual(trace.total("output_rows"), sum(2 + i for i in range(5)))
        self.assertEqual(sorted(e["args"]["generated_tokens"]
                                for e in trace.named("request", "e")), [2, 3, 4, 5, 6])

    def stdin(self, text):
        path = self.file("stdin", text.encode())
        opened = open(path, "rb")
        self.addCleanup(opened.close)
        return {"stdin": opened}

    def test_a_chat(self):
        result, trace = self.traced("chat", self.chat, "--max-tokens", "5", "--temperature", "0",
                                    **self.stdin("hello\nand now\n"))
        self.assertEqual(result.out.count(b"\n"), 2)
        self.assertEqual(len(trace.named("request", "b")), 2)
        cached = [e["args"]["cached_tokens"] for e in trace.named("request", "b")]
        self.assertEqual(cached[0], 0)

    def test_a_serving_benchmark(self):
        args = ("bench", "serve-inproc", self.model, "--json", "--requests", "6", "--input-len",
                "20", "--output-len", "7", "--check", "3", "--step-trace", self.trace)
        for profile in ((), ("--profile",)):
            found = self.one_json(self.assert_done(run(*args, *profile)))
            trace = Trace(self.trace)
            # What runs before the clock and what is checked afterwards is not in it.
            self.assertEqual(len(trace.steps()), found["steps"])
            self.assertEqual(len(trace.named("request", "b")), 6)
            self.assertEqual(trace.total("output_rows"), 6 * 7)
            self.assertEqual(bool(trace.named("linear")), bool(profile))
            self.assertEqual(found["settings"]["profile"], bool(profile))

    def test_requests_that_fail(self):
        model = model_files.tiny_gguf()
        norm = model.tensor("output_norm.weight")
        norm[3] = model_files.NAN + norm[3][4:]
        path = self.file("nan.gguf", model.build())
        args = ("run", path, "--tokens", "1,2", "--print-ids")
        _, trace = self.traced(*args, code=run(*args).code)
        self.assertEqual(len(trace.named("error", "n")), 1)
        _, trace = self.traced("run", path, "--jsonl", code=CHECK_FAILED,
                               **self.stdin('{"prompt_ids":[1]}\n{"prompt_ids":[2]}\n'))
        self.assertEqual(len(trace.named("error", "n")), 2)

    def test_a_signal_ends_the_file_too(self):
        args = ("run", self.model, "-p", "hello", "--ctx", "100000", "--max-tokens", "90000",
                "--ignore-eos", "--log-level", "error", "--trace", self.trace)
        for sent, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with self.subTest(signal=sent):
                process = ingot.start(*args, bufsize=0)
                self.addCleanup(ingot.stop, process)
                self.assertEqual(process.stdout.read(5), b"hello")
                self.assertEqual(len(process.stdout.read(1)), 1)  # a token's
                process.send_signal(sent)
                self.assertEqual(ingot.finish(process).code, code)
                trace = Trace(self.trace)
                self.assertGreater(len(trace.steps()), 0)
                self.assertEqual(len(trace.named("cancelled", "n")), 1)
                os.remove(self.trace)

    def test_a_command_that_never_ran_leaves_the_file_that_was_there(self):
        with open(self.trace, "wb") as f:
            f.write(b"older")
        for args in (("run", self.model, "--tokens", "999999", "--print-ids"),
                     ("run", self.model, "--tokens", "1", "--print-ids", "--ctx", "1"),
                     ("chat", self.chat, "--template", "nope")):
            with self.subTest(args=args):
                result = run(*args, "--trace", self.trace)
                self.assertNotEqual(result.code, DONE)
                with open(self.trace, "rb") as f:
                    self.assertEqual(f.read(), b"older")
        self.assertEqual([n for n in os.listdir(self.folder) if n.startswith("trace.json")],
                         ["trace.json"])

    def test_a_file_that_cannot_be_written(self):
        for path in (self.path("absent/t.json"), self.folder):
            for args in (("run", self.model, "--tokens", "1", "--print-ids", "--trace"),
                         ("chat", self.chat, "--trace"),
                         ("bench", "serve-inproc", self.model, "--requests", "1", "--step-trace")):
                with self.subTest(path=path, args=args):
                    self.assert_error(run(*args, path), IO)

    def test_dev_null_and_pipes_are_written_to(self):
        self.assert_done(run("run", self.model, "--tokens", "1", "--print-ids", "--trace",
                             "/dev/null"))
        fifo = self.path("fifo")
        os.mkfifo(fifo)
        self.addCleanup(os.remove, fifo)
        with subprocess.Popen(["cat", fifo], stdout=subprocess.PIPE) as reader:
            self.assert_done(run("run", self.model, "--tokens", "1", "--print-ids", "--ignore-eos",
                                 "--max-tokens", "3", "--trace", fifo))
            events = json.loads(reader.stdout.read())["traceEvents"]
        self.assertEqual(len([e for e in events if e["name"] == "step"]), 3)

    def test_errors_of_usage(self):
        for args in (("--profile",), ("--trace",), ("--trace", "a", "--trace", "b"),
                     ("--step-trace", "a")):
            with self.subTest(args=args):
                self.assert_error(run("run", self.model, "--tokens", "1", *args), USAGE)
        self.assert_error(run("bench", "serve-inproc", self.model, "--profile"), USAGE)


class WritesThatFail(faults.FaultTest):
    def test_the_command_fails_and_leaves_no_file(self):
        folder = self.path("out")
        os.mkdir(folder)
        trace = os.path.join(folder, "trace.json")
        for call in ("open", "write", "fsync", "rename"):
            with self.subTest(call=call):
                result = self.faulty("run", self.model, "--tokens", "1", "--print-ids",
                                     "--max-tokens", "2", "--trace", trace, path=folder,
                                     fault=f"errno:{errno.ENOSPC}@1", calls=(call,))
                self.assertEqual(len(self.hits), 1)
                self.assertEqual(result.code, IO, result)
                self.assertIn("trace.json: cannot write", result.err)
                self.assert_only([], folder)


if __name__ == "__main__":
    ingot.main()
