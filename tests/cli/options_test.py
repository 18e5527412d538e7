#!/usr/bin/env python3
"""Tests every option with invalid values: exit code 64 and one line that says why."""
import json
import subprocess

import ingot
import model_files
from ingot import COMMANDS, DOES_NOT_FIT, SANITIZERS, USAGE, arguments, run

CONTEXT = 256  # tokens of the small model
HUGE = "9" * 400
# What no option takes, whatever it means.
HOSTILE = ("", " ", "-1", "-9223372036854775808", "1.5", "1e3", "0x10", "1'000", "010x", "nan",
           "NaN", "inf", "-inf", "9223372036854775808", "18446744073709551616", HUGE, "text",
           "\x01\x1b[31m", "a\nb", "\u202e", "None", "1,", ",", "1,,2", "1;2", "١")
if SANITIZERS:
    HOSTILE = HOSTILE[::3]  # starting takes long there


class Options(ingot.CliTest):
    def refused(self, command, *more):
        return self.assert_error(
            run(*arguments(command, self.model, self.folder, *more)), USAGE)

    def test_numbers_and_names_refuse_what_they_do_not_mean(self):
        numbers = {"--ctx": COMMANDS, "--threads": COMMANDS, "--max-tokens": ("run",),
                   "--seed": ("run",), "--temperature": ("run",), "--sequences": ("inspect",),
                   "--reps": ("bench",)}
        allowed = {("--temperature", "1.5"), ("--temperature", "1e3"), ("--seed", "-1"),
                   ("--seed", "0x10"), ("--seed", "9223372036854775808")}
        for option, commands in numbers.items():
            for value in HOSTILE:
                if (option, value) in allowed:
                    continue
                with self.subTest(option=option, value=value):
                    self.refused(commands[0], f"{option}={value}")
        for option in ("--kv-type", "--device", "--numerics", "--cpu-isa", "--log-level",
                       "--memory-limit"):
            for value in HOSTILE:
                with self.subTest(option=option, value=value):
                    self.refused("inspect", f"{option}={value}")
        for option in ("--hidden", "--norm", "--layers", "--split"):
            for value in HOSTILE:
                with self.subTest(option=option, value=value):
                    self.refused("logits", f"{option}={value}")

    def test_a_temperature_beyond_its_range(self):
        for value in ("-0.1", "100.1", "1e3", "1e400"):
            with self.subTest(value=value):
                self.refused("run", "--temperature", value)

    def test_every_command_takes_the_common_options(self):
        for command in COMMANDS:
            for option in ("--ctx=0", "--threads=0", "--kv-type=f64", "--device=gpu",
                           "--numerics=exact", "--cpu-isa=sse",
                           "--log-level=loud", "--memory-limit=1T", "--memory-limit=-1"):
                with self.subTest(command=command, option=option):
                    self.refused(command, option)

    def test_what_is_not_offered_here(self):
        for command in COMMANDS:
            line = self.refused(command, "--kv-type", "int4")
            self.assertIn("int4", line)
            line = self.refused(command, "--cpu-isa", "neon")
            self.assertIn("--cpu-isa neon", line)
            self.assertIn("scalar", line)
            line = self.refused(command, "--device", "cuda:0")
            self.assertIn("--device cuda:0 is not offered", line)
            self.assertIn("auto, cpu", line)
            line = self.refused(command, "--numerics", "fast")
            self.assertIn("--numerics fast is not offered on device cpu", line)

    def test_devices_and_numerics_of_every_machine(self):
        reference = self.generate()["digest"]
        for more in (("--device", "auto"), ("--device", "cpu", "--numerics", "canon"),
                     ("--numerics", "auto")):
            self.assertEqual(self.generate(None, *more)["digest"], reference)

    def test_threads(self):
        for value in ("0", "-1", "100000", "2147483648", "4294967297", "auto ", "AUTO"):
            with self.subTest(value=value):
                self.assertIn("--threads", self.refused("run", f"--threads={value}"))
        reference = self.generate()
        for value in ("1", "2", "3", "auto"):
            self.assertEqual(self.generate(None, "--threads", value)["digest"],
                             reference["digest"])

    def test_context_bounds(self):
        for value in ("0", "-5", "134217729", "2147483648"):
            with self.subTest(value=value):
                self.refused("run", f"--ctx={value}")
        line = self.assert_error(run("run", self.model, "--tokens", "1,2,3,4", "--ctx", "3",
                                     "--print-ids"), USAGE)
        self.assertIn("4 tokens", line)
        self.assertIn("3 (--ctx)", line)
        full = ("run", self.model, "--tokens", "1,2,3", "--ctx", "3", "--print-ids")
        self.assertIn("leaves no room", self.assert_error(run(*full), USAGE))
        self.assertEqual(self.assert_done(run(*full, "--max-tokens", "0")).out, b"\n")

    def test_text_that_ends_at_the_context_says_so(self):
        result = run("run", self.model, "--tokens", "1,2,3", "--ctx", "5", "--ignore-eos",
                     "--print-ids")
        self.assert_done(result)
        self.assertIn("warning: stopped at the context of 5 tokens", result.err)

    def test_prompt_longer_than_the_context(self):
        ids = ",".join(["5"] * (CONTEXT + 1))
        line = self.assert_error(run("run", self.model, "--tokens", ids, "--print-ids"), USAGE)
        self.assertIn(f"{CONTEXT + 1} tokens", line)
        self.assertIn(f"{CONTEXT}", line)
        self.assertIn("--ctx", line)
        raised = run("run", self.model, "--tokens", ids, "--print-ids", "--ctx", "300",
                     "--max-tokens", "2", "--ignore-eos")
        self.assert_done(raised)
        self.assertIn("warning: --ctx 300", raised.err)

    def test_token_ids_outside_the_vocabulary(self):
        for ids in ("320", "1,320", "-1", "4294967296", "1,-5", "99999999999999999999"):
            with self.subTest(ids=ids):
                line = self.assert_error(run("run", self.model, f"--tokens={ids}", "--print-ids"),
                                         USAGE)
                self.assertIn("--tokens", line)
        for ids in HOSTILE:
            if ids == "010x":
                continue
            with self.subTest(ids=ids):
                self.assert_error(run("run", self.model, f"--tokens={ids}", "--print-ids"), USAGE)
        self.assert_done(run("run", self.model, "--tokens", "0,319", "--max-tokens", "1",
                             "--print-ids"))

    def test_split(self):
        def split(value):
            return run("logits", self.model, "--tokens", "1,2,3,4,5", "--split", value, "--out",
                       self.path("split.npy"))
        for value in ("0", "6", "3,3", "5,1", "1,0", "-1", "1,", "", "1,a", "1:2",
                      ",".join(["1"] * 6), "9223372036854775807,9223372036854775807"):
            with self.subTest(value=value):
                self.assertIn("--split", self.assert_error(split(value), USAGE))
        contents = set()
        for value in ("5", "1", "1,1,1,1,1", "3,1", "2,3"):
            self.assert_done(split(value))
            with open(self.path("split.npy"), "rb") as f:
                contents.add(f.read())
        self.assertEqual(len(contents), 1)

    def test_layers(self):
        def layers(value, *more):
            return run("logits", self.model, "--tokens", "1,2", "--layers", value, "--out",
                       self.path("layers.npy"), *more)
        for value in ("", ":", "0", "0:", ":2", "0:0", "1:1", "1:0", "0:3", "2:3", "-1:1", "0:1:2",
                      "a:b", "0 : 1", "0:4294967297", "0:18446744073709551617"):
            with self.subTest(value=value):
                self.assertIn("--layers", self.assert_error(layers(value), USAGE))
        for value in ("0:1", "1:2", "0:2"):
            self.assert_done(layers(value))
        self.assertIn("--norm", self.assert_error(layers("0:1", "--norm", "post"), USAGE))
        self.assert_done(layers("0:2", "--norm", "post"))

    def test_norm_is_about_hidden_states(self):
        self.assertIn("--norm", self.refused("logits", "--norm", "pre"))

    def test_inputs_that_are_missing_or_in_conflict(self):
        embeds = self.file("e.npy", b"")
        out = ("--out", self.path("out.npy"))
        for args in (("run", self.model), ("run", self.model, "-p", ""),
                     ("run", self.model, "-p", "", "--tokens", "1"),
                     ("run", self.model, "-p", "a", "--tokens", ""),
                     ("run", self.model, "-p", "a", "--tokens", "1"),
                     ("logits", self.model, *out),
                     ("logits", self.model, "-p", "", "--tokens", "1", *out),
                     ("logits", self.model, "--embeds", "", "--tokens", "1", *out),
                     ("logits", self.model, "-p", "a", "--tokens", "1", *out),
                     ("logits", self.model, "-p", "a", "--embeds", embeds, *out),
                     ("logits", self.model, "--tokens", "1", "--embeds", embeds, *out),
                     ("logits", self.model, "--tokens", "1"),
                     ("run", self.model, "-p", "a", "--json", "--print-ids")):
            with self.subTest(args=args):
                # An empty text is a prompt of BOS alone where nothing else is wrong.
                if args == ("run", self.model, "-p", ""):
                    self.assert_clean(run(*args, "--max-tokens", "1"), (USAGE,))
                    continue
                self.assert_error(run(*args), USAGE)

    def test_flags_that_do_not_exist_or_lack_a_value(self):
        for command in COMMANDS:
            for args in (("--nope",), ("--nope=1",), ("-z",), ("extra",), ("--ctx",),
                         ("--threads",), ("--memory-limit",), ("---",), ("--=",), ("-",),
                         ("--\x1b[2J",), ("--json=maybe",), ("--check-tensors=2x",)):
                with self.subTest(command=command, args=args):
                    self.refused(command, *args)

    def test_options_given_twice(self):
        for option in ("--ctx", "--threads", "--memory-limit"):
            with self.subTest(option=option):
                self.refused("run", option, "1", option, "2")

    def test_arguments_outside_utf8(self):
        for value in (b"\xff\xfe", b"\xc3", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80"):
            for option in ("--ctx", "--kv-type", "--log-level", "--tokens", "--cpu-isa"):
                with self.subTest(value=value, option=option):
                    self.assert_error(run("run", self.model, "-p", "a", option, value), USAGE)

    def test_prompts_of_awkward_bytes(self):
        for prompt in (b"\xff", b"\xff\xfe\xfd", b"\xc3", b"\x01", b"\xed\xa0\x80", b"\x7f", b"\n",
                       b"<s></s><unk>", b"<0x00>", b"\xe2\x96\x81", b"-p", b"--json", b" " * 100,
                       "\u202e\u0000".encode()[:3]):
            with self.subTest(prompt=prompt):
                result = run("run", self.model, "-p", prompt, "--no-special", "--json",
                             "--max-tokens", "2")
                found = self.one_json(self.assert_done(result))
                # BOS, which the tokenizer puts in front, and never another control token.
                self.assertEqual(found["prompt_ids"][0], 1)
                self.assertFalse(set(found["prompt_ids"][1:]) & {0, 1, 2}, found)

    def test_a_huge_prompt_and_a_huge_number_of_tokens(self):
        line = self.assert_error(run("run", self.model, "-p", "a " * 50000, "--json"), USAGE)
        self.assertRegex(line, r"[0-9]{5,} tokens")
        result = run("run", self.model, "-p", "a", "--json", "--max-tokens", "134217728",
                     "--ignore-eos")
        found = self.one_json(self.assert_done(result))
        self.assertEqual(len(found["prompt_ids"]) + len(found["ids"]), CONTEXT)
        self.assertEqual(found["finish_reason"], "length")
        for value in ("134217729", "-1", HUGE):
            self.refused("run", f"--max-tokens={value}")
        result = run("run", self.model, "-p", "a", "--json", "--max-tokens", "134217728", "--ctx",
                     "134217728")
        self.assertIn("bytes", self.assert_error(result, DOES_NOT_FIT))

    def test_no_tokens_at_all(self):
        found = self.one_json(self.assert_done(
            run("run", self.model, "-p", "a", "--json", "--max-tokens", "0")))
        self.assertEqual(found["ids"], [])
        self.assertEqual(found["text"], "")

    def test_a_plan_too_large_for_64_bits(self):
        # 8 MiB of keys and values a token, times the largest context and number of sequences.
        model = model_files.tiny_gguf()
        heads, size, layers = 128, 256, 32
        for key, value in (("attention.head_count", heads), ("attention.head_count_kv", heads),
                           ("attention.key_length", size), ("attention.value_length", size),
                           ("rope.dimension_count", size), ("block_count", layers)):
            model.set("llama." + key, model_files.UINT32, value)
        first = [t for t in model.tensors if t[0].startswith("blk.0.")]
        model.tensors = [t for t in model.tensors if not t[0].startswith("blk.")]
        model.tensors += [[t[0].replace("blk.0.", f"blk.{i}."), *t[1:]]
                          for i in range(layers) for t in first]
        width = heads * size
        total = 0
        for t in model.tensors:
            t[3] = Zeros(4 * t[1][0] * (t[1][1] if len(t[1]) > 1 else 1))
            if t[0].split(".")[2:3] and t[0].split(".")[2] in ("attn_q", "attn_k", "attn_v"):
                t[1], t[3] = [64, width], Zeros(4 * 64 * width)
            if ".attn_output." in t[0]:
                t[1], t[3] = [width, 64], Zeros(4 * 64 * width)
            total += -total % 32 + len(t[3])
        path = self.file("wide.gguf", model.build(data=False))
        with open(path, "r+b") as f:
            f.truncate(model.marks["data"] + total)  # sparse: nothing is read of it
        plan = self.one_json(self.assert_done(run("inspect", path, "--json", "--kv-type", "f32")))
        self.assertEqual(plan["plan"]["kv_bytes_per_token"], 2 * 4 * width * layers)
        result = run("inspect", path, "--json", "--kv-type", "f32", "--ctx", "134217728",
                     "--sequences", "65536")
        self.assert_clean(result, (DOES_NOT_FIT, USAGE))
        if result.code == 0:
            plan = json.loads(result.out)["plan"]
            self.assertFalse(plan["fits"])
            self.assertGreaterEqual(plan["kv_bytes"], 1 << 60)

    def test_help_goes_to_stdout(self):
        for args in (("--help",), ("-h",), ("run", "--help"), ("run", "-h"), ("inspect", "--help"),
                     ("logits", "--help"), ("bench", "--help"), ("run", "--help", "--nope"),
                     ("--version",), ("run", self.model, "--ctx", "5", "--help")):
            with self.subTest(args=args):
                result = run(*args)
                self.assertEqual((result.code, result.err), (0, ""), result)
                self.assertTrue(result.out.endswith(b"\n"))
                self.assertEqual(result.out.decode().isascii(), True)

    def test_help_names_every_option(self):
        for command, options in (("run", "-p --tokens --max-tokens --temperature --seed --json "
                                  "--print-ids --ignore-eos --trace --profile"),
                                 ("logits", "-p --tokens --embeds --out --split --hidden --norm "
                                  "--layers"),
                                 ("inspect", "--json"),
                                 ("bench", "--prefill --decode --depth --batch --reps --peaks "
                                  "--shared-prefix --profile --profile-layers --json "
                                  "--markdown")):
            help_text = run(command, "--help").out.decode()
            for option in (options + " --threads --device --numerics --cpu-isa --ctx --kv-type "
                           "--log-level --memory-limit --check-tensors").split():
                self.assertIn(option, help_text)

    def test_help_ends_with_an_example_of_its_own_command(self):
        for command in COMMANDS:
            *_, codes, example = run(command, "--help").out.decode().split("\n")[:-1]
            self.assertTrue(example.startswith(f"Example: ingot {command} "), example)
            self.assertIn("143 terminated", codes)
        self.assertIn("[0.01 - 100]", run("run", "--help").out.decode())
        self.assert_done(run("run", self.model, "-p", "a", "--print-ids", "--max-tokens", "1",
                             "--repetition-penalty", "0.01"))
        self.assert_done(run("run", self.model, "-p", "a", "--print-ids", "--max-tokens", "1",
                             "--repeat-penalty", "0.01"))

    def test_a_wrong_command_is_named_with_those_that_there_are(self):
        for word in ("nope", "Run"):
            line = self.assert_error(run(word, self.model, "-p", "a"), USAGE)
            self.assertIn(f"{word} is no command", line)
            for command in COMMANDS:
                self.assertIn(command, line)
        self.assertIn("expected one of", self.assert_error(run(), USAGE))

    def test_no_command_or_a_wrong_one(self):
        for args in ((), ("",), ("nope",), ("Run",), ("--nope",), ("run",),
                     ("logits",), ("run", "--json"), ("inspect", self.model, "run", self.model),
                     ("\x1b]52;c;x\x07",), ("-",), ("--",)):
            with self.subTest(args=args):
                self.assert_error(run(*args), USAGE)

    def test_an_empty_argument_vector(self):
        # The system gives a program without arguments one empty argument, or none at all.
        ended = subprocess.run([""], executable=ingot.BINARY, capture_output=True, check=False,
                               timeout=ingot.TIMEOUT_S, env=ingot.environment())
        self.assert_error(ingot.Result([""], ended.returncode, ended.stdout, ended.stderr), USAGE)


class Zeros:
    """`count` zero bytes, without memory for them."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count


if __name__ == "__main__":
    ingot.main()
