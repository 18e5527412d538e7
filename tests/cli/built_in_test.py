#!/usr/bin/env python3
"""Tests the built-in model: its use without MODEL and by name, its logits and its scores."""
import array
import hashlib
import itertools
import json
import math
import os
import re
import subprocess
import sys
import unittest

import ingot
from ingot import DONE, MODEL, SANITIZERS, USAGE, run

NAME = "ingot-demo"
TOOLS = os.environ.get("INGOT_TOOLS", "")
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(TOOLS, "demo_model"))
import calls  # noqa: E402
import corpus  # noqa: E402

TRAINED_ON = "651854dba6bd9da2"  # digest of corpus.training, see below
MODELS = os.path.join(os.path.dirname(TOOLS), "models")
GOLDEN = os.path.join(os.path.dirname(TOOLS), "tests/built_in")
LAST = 4  # positions of each prompt in the golden logits
WEATHER = {"messages": [{"role": "user", "content": "What is the weather in Paris?"}],
           "tools": [{"type": "function", "function": {
               "name": "get_weather", "description": "Weather of a city",
               "parameters": {"type": "object", "properties": {"city": {"type": "string"}},
                              "required": ["city"]}}}]}


def floats(path):
    """The values of a .npy file of float32."""
    with open(path, "rb") as f:
        data = f.read()
    values = array.array("f")
    values.frombytes(data[10 + int.from_bytes(data[8:10], "little"):])
    return values


class BuiltIn(ingot.CliTest):
    def assert_told(self, result):
        """Done, and one line said which model was used."""
        self.assertEqual(result.code, DONE, result)
        said, _, more = result.err.partition("\n")
        self.assertEqual(said, f"info: using {NAME}, the built-in model", result)
        self.assertNotIn("info", more)
        return result.out.decode()

    def test_run_without_a_model(self):
        text = self.assert_told(run("run", "-p", "Once upon a time", "--max-tokens", "20"))
        self.assertEqual(self.assert_told(run("run", NAME, "-p", "Once upon a time",
                                              "--max-tokens", "20")), text)
        quiet = run("run", "-p", "Once upon a time", "--max-tokens", "20", "--log-level", "warning")
        self.assertEqual(self.assert_done(quiet).out.decode(), text)
        self.assert_error(run("run", "", "-p", "a"), MODEL)
        self.assertEqual(run("run").code, USAGE)

    def test_chat_without_a_model(self):
        read, write = os.pipe()
        os.write(write, b"What is the capital of France?\n")
        os.close(write)
        reply = self.assert_told(run("chat", "--seed", "0", stdin=read))
        self.assertRegex(reply, r"^(.* )?Paris.*\n$")
        os.close(read)

    def test_it_calls_a_tool(self):
        asked = self.file("weather.json", json.dumps(WEATHER).encode())
        reply = self.assert_told(run("run", "--messages", asked, "--max-tokens", "60"))
        call = re.fullmatch(r"<tool_call>\n(.*)\n</tool_call>\n?", reply)
        self.assertIsNotNone(call, reply)
        self.assertEqual(json.loads(call[1]), {"name": "get_weather",
                                               "arguments": {"city": "Paris"}})

    def test_every_command_knows_its_name(self):
        self.assertIn(NAME, self.assert_done(run("models", "--names")).out.decode().split())
        self.assert_told(run("inspect", NAME, "--json"))
        ids = self.assert_told(run("tokenize", NAME, "-p", "Once upon a time")).strip()
        back = self.assert_told(run("tokenize", NAME, "--ids", ids))
        self.assertEqual(back, "Once upon a time\n")
        context = self.file("context.json", json.dumps({**WEATHER, "add_generation_prompt": True})
                            .encode())
        self.assertIn("get_weather", self.assert_told(run("template", NAME, "--context", context)))
        out = self.path("copy.gguf")
        self.assert_told(run("quantize", NAME, out, "--type", "Q4_0", "--json"))
        self.assert_done(run("run", out, "-p", "Once", "--max-tokens", "3",
                             "--log-level", "warning"))

    def test_every_command_takes_it_where_none_is_named(self):
        text = self.file("text.txt", b"Once upon a time there was a fox. " * 20)
        context = self.file("messages.json", json.dumps(WEATHER).encode())
        for args in (("inspect", "--json"), ("tokenize", "-p", "Once"),
                     ("template", "--context", context),
                     ("logits", "-p", "Once", "--out", self.path("one.npy")),
                     ("perplexity", "--file", text, "--ctx", "32", "--json"),
                     ("imatrix", "--file", text, "--ctx", "32", "--out", self.path("one.imatrix")),
                     ("bench", "--prefill", "8", "--decode", "2", "--reps", "1", "--json"),
                     ("bench", "serve-inproc", "--requests", "2", "--output-len", "2")):
            with self.subTest(args=args):
                self.assert_told(run(*args))

    def test_what_exists_goes_first(self):
        self.file(f"here/{NAME}", b"no model")
        ended = subprocess.run([ingot.BINARY, "inspect", NAME], cwd=self.path("here"), check=False,
                               capture_output=True)
        self.assertEqual(ended.returncode, MODEL)
        unnamed = subprocess.run([ingot.BINARY, "inspect"], cwd=self.path("here"), check=False,
                                 capture_output=True)
        self.assertEqual(unnamed.returncode, DONE, unnamed.stderr)

    def test_logits_are_those_of_double_precision(self):
        """Within the bound for quantised files: 0.15 standard deviations."""
        with open(os.path.join(GOLDEN, "prompts.json"), encoding="utf-8") as f:
            prompts = json.load(f)
        golden = floats(os.path.join(GOLDEN, "logits.npy"))
        size = len(golden) // len(prompts)
        for i, ids in enumerate(prompts):
            want = golden[i * size:(i + 1) * size]
            out = self.path("logits.npy")
            self.assert_told(run("logits", NAME, "--tokens", ",".join(map(str, ids)), "--out", out))
            got = floats(out)[-len(want):]
            mean = math.fsum(want) / len(want)
            deviation = math.sqrt(math.fsum((x - mean) ** 2 for x in want) / len(want))
            with self.subTest(prompt=i):
                errors = [abs(a - b) for a, b in zip(got, want, strict=True)]
                self.assertTrue(all(e < 0.15 * deviation for e in errors), max(errors))

    def test_the_template_writes_what_was_trained(self):
        for domain in ("facts", "tools", "two_calls", "after_result", "follow_up", "story_chat"):
            for document in corpus.test_documents(3, domain, 5):
                messages = document.messages[:-1]
                variables = {"add_generation_prompt": True}
                if document.tools:
                    variables["tools"] = document.tools
                    said = messages[0]["content"].split(calls.INTRO)[0].strip()
                    messages[:1] = [{"role": "system", "content": said}] if said else []
                variables["messages"] = messages
                context = self.file("context.json", json.dumps(variables).encode())
                rendered = self.assert_told(run("template", "--context", context))
                trained = "".join(text for text, _ in document.pieces[:-2])
                with self.subTest(domain=domain, messages=messages):
                    self.assertEqual(rendered.removesuffix("\n"), trained.removesuffix("\n"))

    def test_the_training_text_is_what_the_model_was_trained_on(self):
        """Where this fails, the models are no longer what their card says: train them anew."""
        digest = hashlib.sha256()
        for document in itertools.islice(corpus.training("1 0"), 2000):
            digest.update(document.text().encode())
        for part in (1, 2):
            for document in itertools.islice(corpus.training("1 5000", part), 500):
                digest.update(document.text().encode())
        self.assertEqual(digest.hexdigest()[:16], TRAINED_ON)

    def test_its_relatives_have_its_tokenizer_and_run(self):
        text = "Once upon a time <|im_start|>user\nCopy: zorp 12<|im_end|>\n"
        ids = self.assert_told(run("tokenize", NAME, "-p", text))
        for name, architecture in (("draft", "qwen3"), ("moe", "qwen3moe")):
            path = os.path.join(MODELS, f"{NAME}-{name}.gguf")
            with self.subTest(model=name):
                model = json.loads(self.assert_done(run("inspect", path, "--json")).out)
                self.assertEqual(model["architecture"], architecture)
                self.assertEqual(self.assert_done(run("tokenize", path, "-p", text)).out.decode(),
                                 ids)
                said = self.assert_done(run("run", path, "-p", "Once upon a time there was",
                                            "--max-tokens", "30", "--log-level", "warning"))
                self.assertRegex(said.out.decode(), "named [A-Z][a-z]+")

    def test_its_adapter_has_peft_tensors_of_all_matrices(self):
        folder = os.path.join(MODELS, f"{NAME}-pirate")
        with open(os.path.join(folder, "adapter_config.json"), encoding="utf-8") as f:
            config = json.load(f)
        self.assertEqual((config["peft_type"], config["r"]), ("LORA", 8))
        with open(os.path.join(folder, "adapter_model.safetensors"), "rb") as f:
            header = json.loads(f.read(int.from_bytes(f.read(8), "little")))
        header.pop("__metadata__", None)
        sizes = {"q": (256, 256), "k": (256, 128), "v": (256, 128), "o": (256, 256),
                 "gate": (256, 768), "up": (256, 768), "down": (768, 256)}
        want = {}
        for layer in range(5):
            for name, (inputs, outputs) in sizes.items():
                part = "self_attn" if name in "qkvo" else "mlp"
                at = f"base_model.model.model.layers.{layer}.{part}.{name}_proj.lora_"
                want[f"{at}A.weight"], want[f"{at}B.weight"] = [8, inputs], [outputs, 8]
        self.assertEqual({name: t["shape"] for name, t in header.items()}, want)
        self.assertEqual(config["target_modules"], [f"{name}_proj" for name in sizes])

    @unittest.skipIf(SANITIZERS, "the release build answers the same")
    def test_scores(self):
        """A sample of the held-out questions; the model card has the full figures."""
        ended = subprocess.run(
            [sys.executable, "-B", os.path.join(TOOLS, "demo_model/evaluate.py"), "--ingot",
             ingot.BINARY, "--count", "60", "--floor"], capture_output=True, text=True, check=False)
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)


if __name__ == "__main__":
    ingot.main()
