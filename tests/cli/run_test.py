#!/usr/bin/env python3
"""Tests ingot run: every flag of a request, and --jsonl, whose lines must equal single runs."""
import json
import random
import signal
import subprocess

import chat_model
import ingot
from ingot import CHECK_FAILED, USAGE, run

HOSTILE = ("", " ", "-2", "1e400", "0x1", "nan", "inf", "1,", "9" * 400, "text", "\x1b[2J", "1 ")
# What --json shows and --jsonl does not: it differs from run to run.
VARYING = ("prefill_tok_s", "decode_tok_s", "drafted", "accepted")
FLAGS = {"max_tokens": "--max-tokens", "temperature": "--temperature", "top_k": "--top-k",
         "top_p": "--top-p", "min_p": "--min-p", "typical_p": "--typical-p", "seed": "--seed",
         "repetition_penalty": "--repetition-penalty", "presence_penalty": "--presence-penalty",
         "frequency_penalty": "--frequency-penalty", "min_tokens": "--min-tokens",
         "logprobs": "--logprobs", "prompt_logprobs": "--prompt-logprobs",
         "dry_multiplier": "--dry-multiplier", "dry_base": "--dry-base",
         "dry_allowed_length": "--dry-allowed-length", "dry_penalty_last_n": "--dry-penalty-last-n",
         "top_n_sigma": "--top-n-sigma", "mirostat": "--mirostat",
         "mirostat_tau": "--mirostat-tau", "mirostat_eta": "--mirostat-eta",
         "xtc_probability": "--xtc-probability", "xtc_threshold": "--xtc-threshold"}


def random_line(rng):
    """A line of input, most of whose members are drawn."""
    line = {"prompt_ids": [1] + [rng.randrange(259, 320) for _ in range(rng.randrange(40))]}
    if rng.randrange(2):
        line = {"prompt": " ".join(rng.choice(("hello", "there", "the", "a cat", "é", "🦙"))
                                   for _ in range(rng.randrange(12)))}
    draw = {"max_tokens": rng.randrange(1, 30), "temperature": rng.choice((0, 0.5, 1.5)),
            "top_k": rng.choice((-1, 0, 5)), "top_p": rng.choice((0.5, 0.9, 1)),
            "min_p": rng.choice((0, 0.05)), "typical_p": rng.choice((0.5, 1)),
            "seed": rng.randrange(1 << 40), "repetition_penalty": rng.choice((1, 1.25)),
            "presence_penalty": rng.choice((0, -0.5, 0.5)), "min_tokens": rng.randrange(4),
            "frequency_penalty": rng.choice((0, 0.25)), "logprobs": rng.randrange(4),
            "prompt_logprobs": rng.randrange(4), "stop": rng.choice((["e"], ["th", "a "])),
            "ignore_eos": rng.random() < 0.5, "stop_token_ids": [rng.randrange(259, 320)],
            "logit_bias": {str(rng.randrange(259, 320)): rng.choice((-5, 2.5))}}
    more = random.Random(draw["seed"])
    draw |= {"dry_multiplier": more.choice((0, 0.8)), "dry_base": more.choice((1, 1.75)),
             "dry_allowed_length": more.randrange(4), "dry_penalty_last_n": more.choice((-1, 0, 9)),
             "top_n_sigma": more.choice((-1, 0, 1.5)), "mirostat": more.choice((0, 2)),
             "mirostat_tau": more.choice((1, 5)), "mirostat_eta": more.choice((0.1, 0.5)),
             "xtc_probability": more.choice((0, 0.5)), "xtc_threshold": more.choice((0.02, 0.1))}
    line.update({k: v for k, v in draw.items() if rng.random() < 0.4})
    return line


def as_flags(line):
    """The same line as arguments of a single run."""
    args = []
    for name, value in line.items():
        if name == "prompt":
            args += ["-p", value]
        elif name == "prompt_ids":
            args += ["--tokens", ",".join(map(str, value))]
        elif name == "stop":
            for text in value:
                args += ["--stop", text]
        elif name == "stop_token_ids":
            args += ["--stop-token", ",".join(map(str, value))]
        elif name == "logit_bias":
            args += ["--logit-bias", ",".join(f"{i}={v}" for i, v in value.items())]
        elif name == "ignore_eos":
            args += ["--ignore-eos"] if value else []
        else:
            args += [f"{FLAGS[name]}={value}"]
    return args


class Run(ingot.CliTest):
    def single(self, *args):
        return self.one_json(self.assert_done(run("run", self.model, "--json", *args)))

    def batch(self, content, *args, **how):
        """A run of --jsonl on these bytes."""
        if not isinstance(content, bytes):
            content = "".join(json.dumps(line) + "\n" for line in content).encode()
        process = ingot.start("run", self.model, "--jsonl", *args, stdin=subprocess.PIPE, **how)
        out, err = process.communicate(content, timeout=ingot.TIMEOUT_S * 4)
        return ingot.Result(process.args, process.returncode, out, err)

    def objects(self, result):
        return [json.loads(line) for line in result.out.split(b"\n")[:-1]]

    def test_64_lines_are_64_single_runs(self):
        rng = random.Random(64)
        lines = [random_line(rng) for _ in range(64)]
        together = self.assert_done(self.batch(lines, "--sequences", "9", "--step-rows", "33"))
        found = together.out.splitlines(keepends=True)
        self.assertEqual(len(found), 64)
        for line, out in zip(lines, found):
            with self.subTest(line=line):
                alone = self.assert_done(self.batch([line]))
                self.assertEqual(alone.out, out)
                single = self.single(*as_flags(line))
                for name in VARYING:
                    del single[name]
                self.assertEqual(single, json.loads(out))
        everything = self.assert_done(self.batch(lines))
        self.assertEqual(everything.out, together.out)

    def test_a_pool_that_is_too_small_for_all_changes_nothing(self):
        lines = [{"prompt_ids": [1] + [260 + i] * 60, "max_tokens": 60} for i in range(16)]
        free = self.assert_done(self.batch(lines))
        needed = self.assert_error(self.batch(lines, "--memory-limit", "1"), ingot.DOES_NOT_FIT)
        least = int(needed.split("needs ")[1].split()[0])
        kv = int(needed.split("kv cache ")[1].split()[0])
        tight = self.batch(lines, "--memory-limit", str(least + 3 * kv))
        self.assertEqual(self.assert_done(tight).out, free.out)

    def test_end_tokens_replace_the_models_own(self):
        free = self.single("-p", "a", "--max-tokens", "8", "--ignore-eos")["ids"]
        replaced = self.single("-p", "a", "--max-tokens", "8", "--end-tokens", f"319,{free[3]}")
        self.assertEqual((replaced["ids"], replaced["finish_reason"]),
                         (free[:free.index(free[3])], "stop"))
        ignored = self.single("-p", "a", "--max-tokens", "8", "--end-tokens", str(free[3]),
                              "--ignore-eos")
        self.assertEqual(ignored["ids"], free)
        later = self.single("-p", "a", "--max-tokens", "8", "--end-tokens", f"319,{free[3]}",
                            "--min-tokens", "8")["ids"]
        self.assertEqual((len(later), {319, free[3]} & set(later)), (8, set()))
        shown = self.one_json(self.assert_done(
            run("inspect", self.model, "--json", "--end-tokens", "319,3")))["end_tokens"]
        self.assertEqual([(end["id"], end["source"]) for end in shown],
                         [(319, "--end-tokens"), (3, "--end-tokens")])
        for text in ("320", "-1", "", "2,", "eos"):
            self.assertIn("end", self.assert_error(
                run("inspect", self.model, "--end-tokens", text), USAGE))

    def test_seeds_are_all_64_bits(self):
        args = ("--temperature", "1.5", "--max-tokens", "20", "--ignore-eos")
        texts = set()
        for seed in (0, (1 << 63) - 1, 1 << 63, (1 << 63) + 1, (1 << 64) - 1):
            line, = self.objects(self.assert_done(
                self.batch([{"prompt": "a", "seed": seed}], *args)))
            single = self.single("-p", "a", "--seed", str(seed), *args)
            self.assertEqual(line["ids"], single["ids"])
            texts.add(str(line["ids"]))
        self.assertEqual(len(texts), 5)

    def test_random_seeds_are_reported_and_give_the_text_again(self):
        args = ("--temperature", "1.5", "--max-tokens", "12", "--ignore-eos")
        drawn = self.objects(self.assert_done(self.batch(
            [{"prompt": "a", "seed": seed} for seed in (-1, None, -1)], *args)))
        drawn.append(self.single("-p", "a", "--seed", "-1", *args))
        drawn += self.objects(self.assert_done(
            self.batch([{"prompt": "a"}, {"prompt": "a"}], "--seed", "-1", *args)))
        self.assertEqual(len({found["seed"] for found in drawn}), 6)
        for found in drawn:
            self.assertLess(found["seed"], 1 << 53)
            again = self.single("-p", "a", "--seed", str(found["seed"]), *args)
            self.assertEqual((again["ids"], again["seed"]), (found["ids"], found["seed"]))

    def test_without_a_seed_it_is_0(self):
        args = ("--temperature", "1.5", "--max-tokens", "12")
        line, = self.objects(self.assert_done(self.batch([{"prompt": "a"}], *args)))
        single = self.single("-p", "a", *args)
        self.assertEqual((line["seed"], single["seed"]), (0, 0))
        self.assertEqual(self.single("-p", "a", "--seed", "0", *args)["ids"], single["ids"])

    def test_flags_are_defaults_of_lines(self):
        found = self.objects(self.assert_done(self.batch(
            [{"prompt": "a"}, {"prompt": "a", "max_tokens": 2}], "--max-tokens", "3",
            "--ignore-eos", "--logprobs", "1")))
        self.assertEqual([len(o["ids"]) for o in found], [3, 2])
        self.assertEqual([len(o["logprobs"]) for o in found], [3, 2])

    def test_bad_lines_give_errors_in_their_place(self):
        good = b'{"prompt": "a", "max_tokens": 1}'
        bad = [b"{", b"[]", b"null", b"1", b'"text"', b"{}", b"\xff", b"{}{}",
               b'{"prompt": 1}', b'{"prompt": null}', b'{"prompt": "a", "prompt_ids": [1]}',
               b'{"prompt_ids": []}', b'{"prompt_ids": [320]}', b'{"prompt_ids": [-1]}',
               b'{"prompt_ids": [1.5]}', b'{"prompt_ids": "1"}', b'{"prompt_ids": [4294967297]}',
               b'{"prompt": "a", "prompt": "b"}', b'{"prompt": "a", "unknown": 1}',
               b'{"prompt": "a", "max_tokens": -1}', b'{"prompt": "a", "max_tokens": "3"}',
               b'{"prompt": "a", "max_tokens": 1e400}', b'{"prompt": "a", "temperature": -1}',
               b'{"prompt": "a", "temperature": 1e300}', b'{"prompt": "a", "temperature": true}',
               b'{"prompt": "a", "top_p": 2}', b'{"prompt": "a", "stop": [1]}',
               b'{"prompt": "a", "stop": ""}', b'{"prompt": "a", "stop": {"a": 1}}',
               b'{"prompt": "a", "stop": "' + b"x" * 2000 + b'"}',
               b'{"prompt": "a", "stop": [' + b'"x",' * 100 + b'"x"]}',
               b'{"prompt": "a", "logit_bias": {"x y": 1}}', b'{"prompt": "a", "logit_bias": [1]}',
               b'{"prompt": "a", "allowed_token_ids": []}', b'{"prompt": "a", "mirostat": 1}',
               b'{"prompt": "a", "allowed_token_ids": [320]}', b'{"prompt": "a", "bad_words": ""}',
               b'{"prompt": "a", "dry_sequence_breakers": ["' + b"x" * 41 + b'"]}',
               b'{"prompt": "a", "logit_bias": {"1": 1, "01": 2}}',
               b'{"prompt": "a", "logit_bias": {"320": 1}}',
               b'{"prompt": "a", "logit_bias": {"1": 1e9}}',
               b'{"prompt": "a", "stop_token_ids": [320]}', b'{"prompt": "a", "seed": -2}',
               b'{"prompt": "a", "seed": 18446744073709551616}', b'{"prompt": "a", "seed": 1.5}',
               b'{"prompt": "a", "stop_token_ids": [' + b"5," * 1024 + b"5]}",
               b'{"prompt": "a", "logprobs": 21}', b'{"prompt": "a", "prompt_logprobs": 21}',
               b'{"prompt": "a", "ignore_eos": 1}', b'{"prompt_ids": [' + b"[" * 50 + b"]",
               b'{"prompt_ids": [' + b"1," * 256 + b"1]}", b"[" * 100000,
               b'{"prompt": "' + b"a" * (17 << 20) + b'"}']
        content = b"".join(good + b"\n" + line + b"\n" for line in bad)
        result = self.batch(content)
        self.assertEqual(result.code, CHECK_FAILED, result)
        self.assertEqual(result.err, "", result)
        found = self.objects(result)
        self.assertEqual(len(found), 2 * len(bad))
        for i, line in enumerate(bad):
            with self.subTest(line=line[:80]):
                self.assertEqual(len(found[2 * i]["ids"]), 1)
                self.assertEqual(list(found[2 * i + 1]), ["error"])
                self.assertTrue(found[2 * i + 1]["error"].isprintable())

    def test_a_line_that_does_not_fit_fails_alone(self):
        lines = b'{"prompt": "a", "max_tokens": 3}\n{"prompt": "a", "max_tokens": 16000000}\n'
        result = self.batch(lines, "--ctx", "16777216", "--memory-limit", "64M")
        self.assertEqual(result.code, CHECK_FAILED, result)
        fits, does_not = self.objects(result)
        self.assertEqual(len(fits["ids"]), 3)
        self.assertIn("max_tokens", does_not["error"])

    def test_one_line_that_is_too_long_fails_alone_beyond_the_models_own_context(self):
        small = [{"prompt": f"{i}", "max_tokens": 300} for i in range(20)]
        large = {"prompt": "a", "max_tokens": 100000}
        args = ("--ctx", "200000", "--log-level", "error", "--ignore-eos")
        alone = self.objects(self.assert_done(self.batch(small, *args)))
        result = self.batch([*small[:7], large, *small[7:]], *args, "--memory-limit", "4M")
        self.assertEqual(result.code, CHECK_FAILED, result)
        found = self.objects(result)
        self.assertIn("there is memory for", found.pop(7)["error"])
        self.assertEqual(found, alone)
        self.assertGreater(max(len(o["prompt_ids"]) + len(o["ids"]) for o in found), 256)

    def test_steps_become_smaller_before_anything_is_refused(self):
        lines = [{"prompt_ids": [1] + [260 + i % 60] * (1 + i % 9), "max_tokens": 5}
                 for i in range(64)]
        free = self.assert_done(self.batch(lines))
        refused = self.assert_error(self.batch(lines, "--memory-limit", "1"), ingot.DOES_NOT_FIT)
        for flag in ("--step-rows", "--sequences", "--kv-type", "--ctx"):
            self.assertNotIn(flag, refused)
        alone = self.assert_error(self.batch([lines[8]], "--memory-limit", "1", "--step-rows", "1"),
                                  ingot.DOES_NOT_FIT)
        least = int(alone.split("needs ")[1].split()[0])
        for limit in (least, least + 10000, 2 * least):
            tight = self.assert_done(self.batch(lines, "--memory-limit", str(limit)))
            self.assertEqual(tight.out, free.out)

    def test_what_is_wrong_with_a_request_is_said_before_the_model_is_opened_or_loaded(self):
        result = run("run", "no_such_file")
        self.assert_error(result, USAGE, "-p")
        self.assert_error(run("run", self.model, "-p", "a", "--stop", ""), USAGE, "stop")

    def test_input_without_an_end_of_line_or_without_lines(self):
        self.assertEqual(self.assert_done(self.batch(b"")).out, b"")
        result = self.batch(b'{"prompt": "a", "max_tokens": 1}')
        self.assertEqual(len(self.objects(self.assert_done(result))), 1)
        result = self.batch(b"nothing good\n")
        self.assertEqual((result.code, len(self.objects(result))), (CHECK_FAILED, 1))

    def test_blank_lines_and_a_byte_order_mark(self):
        line = b'{"prompt": "a", "max_tokens": 3}'
        one = self.assert_done(self.batch(line + b"\n")).out
        mixed = b"\xef\xbb\xbf\r\n \t\n" + line + b"\r\n\r\n\n" + line + b"\n{\n\n"
        result = self.batch(mixed)
        self.assertEqual(result.code, CHECK_FAILED, result)
        first, second, bad = result.out.splitlines(keepends=True)
        self.assertEqual((first, second), (one, one))
        # Numbers of lines count blank ones too.
        self.assertIn("line 7 ", json.loads(bad)["error"])

    def test_a_prompt_from_a_file_or_stdin(self):
        args = ("--max-tokens", "6")
        for prompt in ("hello there", "two\nlines \t", "\n", ""):
            expected = self.single("-p", prompt, *args)
            for ending in ("", "\n", "\r\n"):
                if ending == "" and prompt.endswith("\n"):
                    continue
                for mark in (b"", b"\xef\xbb\xbf"):
                    path = self.file("prompt.txt", mark + (prompt + ending).encode())
                    found = [self.single("-f", path, *args)]
                    for form in (("-f", "-"), ("--file", "/dev/stdin"), ("-",)):
                        with open(path, "rb") as stdin:
                            found.append(self.one_json(self.assert_done(
                                run("run", self.model, "--json", *form, *args, stdin=stdin))))
                    for one in found:
                        self.assertEqual((one["prompt_ids"], one["digest"]),
                                         (expected["prompt_ids"], expected["digest"]))
        # Bytes that are no text stay as they are.
        path = self.file("bytes.txt", b"a\xff\x00b")
        ids = self.single("-f", path, "--max-tokens", "0")["prompt_ids"]
        tokens = self.assert_done(run("tokenize", self.model, "--file", path, "--add-special"))
        self.assertEqual(ids, [int(i) for i in tokens.out.split(b",")])

    def test_no_echo(self):
        args = ("-p", "hello there", "--max-tokens", "6")
        text = self.single(*args)["text"]
        echoed = self.assert_done(run("run", self.model, *args)).out.decode()
        self.assertEqual(echoed, "hello there" + text + "\n")
        quiet = self.assert_done(run("run", self.model, *args, "--no-echo")).out.decode()
        self.assertEqual(quiet, text + "\n")

    def test_an_instruct_model_without_its_template_is_noted(self):
        model = self.file("chat.gguf", chat_model.chat_model().build())
        args = ("-p", "hello", "--max-tokens", "2")
        note = "info: the model has a chat template, which run does not apply to this prompt: " \
               "ingot chat MODEL -p TEXT and ingot run MODEL --messages FILE do\n"
        messages = self.file("messages.json", b'[{"role": "user", "content": "hello"}]')
        prompt = self.file("prompt.txt", b"hello")
        for path, more, said in (
                (model, args, note), (model, ("-f", prompt, *args[2:]), note),
                (self.model, args, ""), (model, (*args, "--json"), ""),
                (model, (*args, "--print-ids"), ""), (model, (*args, "--log-level", "warning"), ""),
                (model, ("--tokens", "1,300", *args[2:]), ""),
                (model, ("--messages", messages, *args[2:]), ""),
                # A prompt with a control token was written with a template.
                (model, ("-p", "<s>u:hello</s>", *args[2:]), "")):
            with self.subTest(more=more):
                result = run("run", path, *more)
                self.assertEqual((result.code, result.err), (ingot.DONE, said), result)

    def test_too_many_lines(self):
        self.assertIn("65536 lines", self.assert_error(self.batch(b"\n" * 65537), USAGE))

    def test_a_closed_stdin_is_no_empty_one(self):
        result = run("run", self.model, "--jsonl", stdin=None, close=(0,))
        self.assert_error(result, ingot.IO, "stdin")
        self.assert_done(run("run", self.model, "--tokens", "1,2", "--print-ids", stdin=None,
                             close=(0,)))

    def test_interrupted_while_reading_and_while_running(self):
        args = ("run", self.model, "--jsonl", "--ctx", "100000", "--ignore-eos", "--log-level",
                "error")
        for ends in (False, True):
            with self.subTest(ends=ends):
                process = ingot.start(*args, stdin=subprocess.PIPE)
                self.addCleanup(ingot.stop, process)
                if ends:
                    process.stdin.write(b'{"prompt": "a", "max_tokens": 1}\n' +
                                        b'{"prompt": "a", "max_tokens": 90000}\n' * 3)
                    process.stdin.close()
                    self.assertIn(b'"ids"', process.stdout.readline())
                else:
                    process.stdin.write(b" " * (1 << 20))  # more than the pipe holds
                process.send_signal(signal.SIGINT)
                process.wait(timeout=ingot.TIMEOUT_S)
                self.assertEqual(process.returncode, 130)
                process.stdin.close()

    def test_flags_refuse_what_they_do_not_mean(self):
        for flag in (*FLAGS.values(), "--logit-bias", "--stop-token", "--step-rows",
                     "--sequences"):
            for value in HOSTILE:
                if flag == "--presence-penalty" and value == "-2":
                    continue
                if flag == "--frequency-penalty" and value == "-2":
                    continue
                with self.subTest(flag=flag, value=value):
                    self.assert_error(run("run", self.model, "-p", "a", "--print-ids",
                                          f"{flag}={value}"), USAGE)
        for args in (("--logit-bias", "1=1,1=2"), ("--logit-bias", "320=1"), ("--stop", ""),
                     ("--logit-bias", "5"), ("--stop-token", "320"), ("--stop", "x" * 2000),
                     ("--typical-p", "0"), ("--jsonl", "--json"), ("--jsonl", "--print-ids"),
                     ("--jsonl",), ("--messages", "m.json"), ("--template", "chatml")):
            with self.subTest(args=args):
                self.assert_error(run("run", self.model, "-p", "a", *args), USAGE)

    def test_stop_strings_end_the_text(self):
        args = ("-p", "hello there", "--max-tokens", "40", "--ignore-eos", "--temperature", "1")
        text = self.single(*args)["text"]
        stop = text[20:23]
        found = self.single(*args, "--stop", "[never, this]", "--stop", stop)
        self.assertEqual(found["text"], text[:text.find(stop)])
        self.assertEqual(found["finish_reason"], "stop")
        streamed = self.assert_done(run("run", self.model, *args, "--stop", stop))
        self.assertEqual(streamed.out.decode(), "hello there" + found["text"] + "\n")

    def test_stop_strings_are_taken_as_they_are(self):
        args = ("-p", "a", "--max-tokens", "3", "--ignore-eos", "--logit-bias", "290=100")
        text = self.single(*args)["text"]
        for stop in ("[" + text[0] + "]", text[0] + "," + text[0] + "x", '"' + text[0] + '"'):
            with self.subTest(stop=stop):
                self.assertEqual(self.single(*args, "--stop", stop)["text"], text)

    def test_stop_tokens_biases_and_minimum(self):
        args = ("-p", "a", "--max-tokens", "8", "--ignore-eos")
        self.assertEqual(self.single(*args, "--logit-bias", "290=100,291=-100")["ids"], [290] * 8)
        args += ("--logit-bias", "290=100")
        found = self.single(*args, "--stop-token", "289", "--stop-token", "300,290")
        self.assertEqual((found["ids"], found["finish_reason"]), ([], "stop"))
        found = self.single(*args, "--stop-token", "290", "--min-tokens", "3")
        self.assertEqual(len(found["ids"]), 3)
        self.assertNotIn(290, found["ids"])

    def test_logprobs(self):
        found = self.single("-p", "hello there", "--max-tokens", "6", "--ignore-eos",
                            "--logprobs", "3", "--prompt-logprobs", "2")
        self.assertEqual([t["id"] for t in found["logprobs"]], found["ids"])
        for t in found["logprobs"]:
            self.assertEqual(t["top"][0], [t["id"], t["logprob"]])
            values = [v for _, v in t["top"]]
            self.assertEqual((len(values), values), (3, sorted(values, reverse=True)))
            self.assertLess(values[0], 0)
        first, *rest = found["prompt_logprobs"]
        self.assertIsNone(first)
        self.assertEqual([t["id"] for t in rest], found["prompt_ids"][1:])
        self.assertTrue(all(len(t["top"]) == 2 for t in rest))
        # The row that scores a prompt's token is the row that would have drawn it.
        again = self.single("--tokens", ",".join(map(str, found["prompt_ids"] + found["ids"])),
                            "--max-tokens", "0", "--prompt-logprobs", "0")
        tail = again["prompt_logprobs"][len(found["prompt_ids"]):]
        for ours, theirs in zip(found["logprobs"], tail):
            self.assertEqual(ours["id"], theirs["id"])
            self.assertAlmostEqual(ours["logprob"], theirs["logprob"], places=5)
        self.assertNotIn("logprobs", again)

    def test_logprobs_that_nothing_would_show_are_refused(self):
        for flag in ("--logprobs", "--prompt-logprobs"):
            for more in ((), ("--print-ids",)):
                with self.subTest(flag=flag, more=more):
                    self.assert_error(run("run", self.model, "-p", "a", flag, "1", *more), USAGE,
                                      "--json")

    def test_step_rows_change_nothing(self):
        args = ("--tokens", "1" + ",300" * 100, "--max-tokens", "5", "--prompt-logprobs", "1")
        want = self.single(*args)
        for rows in ("1", "7", "64", "16384"):
            found = self.single(*args, "--step-rows", rows)
            for name in VARYING:
                found[name] = want[name]
            self.assertEqual(found, want)


if __name__ == "__main__":
    ingot.main()
