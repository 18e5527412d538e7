#!/usr/bin/env python3
"""Tests ingot lora merge and ingot lora convert: files, refusals, full disks, signals."""
import errno
import json
import os
import signal
import struct

import faults
import ingot
import model_files
from ingot import DONE, IO, MODEL, USAGE, run

LLAMA_LAYER = "model.layers.1.self_attn."
CALLS_MAX = 300  # more than any of these runs makes: the loops end by themselves


def floats(count, step):
    """Small multiples of 1/64."""
    return [((i * step) % 31 - 15) / 64 for i in range(count)]


def packed(values):
    return struct.pack(f"<{len(values)}f", *values)


def read_safetensors(path):
    """{name: (dtype, shape, bytes)} of a file."""
    with open(path, "rb") as f:
        content = f.read()
    size = struct.unpack_from("<Q", content)[0]
    header = json.loads(content[8:8 + size])
    header.pop("__metadata__", None)
    return {name: (t["dtype"], t["shape"], content[8 + size:][slice(*t["data_offsets"])])
            for name, t in header.items()}


class LoraFiles(ingot.CliTest):
    RANK, ALPHA = 2, 3

    def adapter(self, name, modules, **config):
        """A PEFT folder with pairs of (module, inputs, outputs); returns its path."""
        tensors = []
        for number, (module, inputs, outputs) in enumerate(modules):
            for half, shape in (("A", [self.RANK, inputs]), ("B", [outputs, self.RANK])):
                values = floats(shape[0] * shape[1], 7 + number)
                tensors.append((f"base_model.model.{module}.lora_{half}.weight", "F32", shape,
                                packed(values)))
        return self.peft(name, tensors, [m[0] for m in modules], **config)

    def embedding_adapter(self, name):
        shape = (model_files.HF_VOCAB, model_files.HF_HIDDEN)
        start = "base_model.model.model.embed_tokens.lora_embedding_"
        return self.peft(name, [
            (start + "A", "F32", [self.RANK, shape[0]], packed(floats(self.RANK * shape[0], 5))),
            (start + "B", "F32", [shape[1], self.RANK], packed(floats(self.RANK * shape[1], 3)))],
            ["embed_tokens"])

    def peft(self, name, tensors, modules, **config):
        members = {"peft_type": "LORA", "r": self.RANK, "lora_alpha": self.ALPHA,
                   "target_modules": modules, **config}
        self.file(f"{name}/adapter_config.json", json.dumps(members).encode())
        self.file(f"{name}/adapter_model.safetensors", model_files.safetensors(tensors))
        return self.path(name)

    def query_adapter(self, name="query", **config):
        hidden = model_files.HF_HIDDEN
        return self.adapter(name, [(LLAMA_LAYER + "q_proj", hidden, hidden)], **config)

    def tied_folder(self, name, sharded=False):
        config, tensors = model_files.tiny_hf()
        config = {**config, "tie_word_embeddings": True}
        tensors = [t for t in tensors if t[0] != "lm_head.weight"]
        if not sharded:
            return self.hf_folder(name, config, tensors)
        self.file(f"{name}/config.json", json.dumps(config).encode())
        names = {}
        for i, part in enumerate((tensors[:5], tensors[5:])):
            shard = f"model-{i + 1:05}-of-00002.safetensors"
            self.file(f"{name}/{shard}", model_files.safetensors(part))
            names.update({t[0]: shard for t in part})
        size = sum(len(t[3]) for t in tensors)
        index = {"metadata": {"total_size": size}, "weight_map": names}
        self.file(f"{name}/model.safetensors.index.json", json.dumps(index).encode())
        return self.path(name)

    def read(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()

    def merge(self, *args, **how):
        return run("lora", "merge", *args, **how)

    def convert(self, *args, **how):
        return run("lora", "convert", *args, **how)

    def inspect(self, path):
        return self.one_json(self.assert_done(run("lora", "inspect", path, "--json")))


class Merge(LoraFiles):
    def test_a_folder_stays_except_for_the_changed_matrix(self):
        folder = self.hf_folder("hf")
        side = {"generation_config.json": b'{"temperature": 0.5}', "chat_template.jinja": b"{{x}}",
                "README.md": b"text", "modeling_x.py": b"pass"}
        for name, content in side.items():
            self.file("hf/" + name, content)
        for name in ("pytorch_model.bin", "other.gguf", ".hidden.json", "adapter_config.json"):
            self.file("hf/" + name, b"not copied")
        report = self.one_json(self.merge(folder, self.query_adapter() + ":0.5", self.path("out"),
                                          "--json"))
        name = LLAMA_LAYER + "q_proj.weight"
        self.assertEqual([t["name"] for t in report["tensors"]], [name])
        self.assert_only(["config.json", "model.safetensors", *side], self.path("out"))
        for copied in ("config.json", *side):
            self.assertEqual(self.read("out/" + copied), self.read("hf/" + copied))
        before = read_safetensors(self.path("hf/model.safetensors"))
        after = read_safetensors(self.path("out/model.safetensors"))
        self.assertEqual(list(before), list(after))
        size, rank = model_files.HF_HIDDEN, self.RANK
        a, b = (floats(rank * size, 7) for _ in range(2))
        old = struct.unpack(f"<{size * size}f", before[name][2])
        scale = 0.5 * self.ALPHA / rank
        want = [old[i * size + k] + scale * sum(b[i * rank + j] * a[j * size + k]
                                                for j in range(rank))
                for i in range(size) for k in range(size)]
        # Python's sums are exact too, up to the last rounding, which pack makes.
        self.assertEqual(after[name], (before[name][0], before[name][1], packed(want)))
        before.pop(name)
        self.assertEqual({n: after[n] for n in before}, before)

    def test_merged_models_run_as_adapters_do(self):
        folder = self.hf_folder("hf-run")
        adapter = self.query_adapter()
        self.assert_done(self.merge(folder, adapter, self.path("run-out")))
        self.assert_done(self.merge(folder, adapter, self.path("run.gguf"), "--no-tokenizer"))
        want = self.generate(folder, "--lora", adapter)["ids"]
        for out in ("run-out", "run.gguf"):
            self.assertEqual(self.generate(self.path(out))["ids"], want)

    def test_a_tied_head_becomes_a_tensor(self):
        adapter = self.embedding_adapter("embed")
        for sharded in (False, True):
            folder = self.tied_folder(f"tied-{sharded}", sharded)
            out = self.path(f"untied-{sharded}")
            self.assert_done(self.merge(folder, adapter, out))
            with open(os.path.join(out, "config.json"), encoding="utf-8") as f:
                self.assertIs(json.load(f)["tie_word_embeddings"], False)
            file = "model-00001-of-00002.safetensors" if sharded else "model.safetensors"
            before = read_safetensors(os.path.join(folder, file))
            after = read_safetensors(os.path.join(out, file))
            self.assertEqual(after["lm_head.weight"], before["model.embed_tokens.weight"])
            self.assertNotEqual(after["model.embed_tokens.weight"],
                                before["model.embed_tokens.weight"])
            self.assertEqual(self.generate(out)["ids"],
                             self.generate(folder, "--lora", adapter)["ids"])
            if sharded:
                index = json.loads(self.read(f"untied-{sharded}/model.safetensors.index.json"))
                self.assertEqual(index["weight_map"]["lm_head.weight"], file)
                size = sum(len(t[3]) for t in model_files.tiny_hf()[1])
                self.assertEqual(index["metadata"]["total_size"], size)
            gguf = self.path(f"untied-{sharded}.gguf")
            self.assert_done(self.merge(folder, adapter, gguf, "--no-tokenizer"))
            self.assertEqual(self.generate(gguf)["ids"], self.generate(out)["ids"])

    def test_the_head_of_a_multimodal_folder_becomes_a_tensor(self):
        adapter = self.embedding_adapter("embed")
        text, tensors = model_files.tiny_hf()
        text.pop("tie_word_embeddings")
        name = "language_model.lm_head.weight"
        for stored in (None, "lm_head.weight", name):
            # transformers stores some folders with a copy of the embedding.
            config = {"model_type": "gemma3", "text_config": text, "vision_config": {},
                      **({"tie_word_embeddings": True} if stored else {})}
            parts = [("language_model." + t[0], *t[1:]) for t in tensors
                     if t[0] != "lm_head.weight"]
            if stored:
                parts.append((stored, *parts[0][1:]))
            folder = self.hf_folder(f"multi-{stored}", config, parts)
            out = self.path(f"merged-{stored}")
            self.assert_done(self.merge(folder, adapter, out))
            with open(os.path.join(out, "config.json"), encoding="utf-8") as f:
                said = json.load(f)
            self.assertIs(said["tie_word_embeddings"], False)
            self.assertIs(said["text_config"]["tie_word_embeddings"], False)
            self.assertNotIn("tie_word_embeddings", said["vision_config"])
            after = read_safetensors(os.path.join(out, "model.safetensors"))
            heads = [n for n in after if n.endswith("lm_head.weight")]
            self.assertEqual(heads, [stored or name])
            before = read_safetensors(os.path.join(folder, "model.safetensors"))
            self.assertEqual(after[heads[0]], before["language_model.model.embed_tokens.weight"])
            self.assertEqual(self.generate(out)["ids"],
                             self.generate(folder, "--lora", adapter)["ids"])

    def test_quantised_matrices_keep_their_type(self):
        hidden = model_files.tiny.HIDDEN
        adapter = self.adapter("tiny", [("model.layers.0.self_attn.q_proj", hidden, hidden)])
        self.assert_done(run("quantize", self.model, self.path("q8.gguf"), "--type", "Q8_0"))
        result = self.assert_done(self.merge(self.path("q8.gguf"), adapter, self.path("m.gguf"),
                                             "--json"))
        self.assertIn("changed and quantised again: blk.0.attn_q.weight (Q8_0)", result.err)
        report = self.one_json(result)["tensors"]
        self.assertEqual([(t["name"], t["format"]) for t in report],
                         [("blk.0.attn_q.weight", "Q8_0")])
        self.assertLess(report[0]["error"], 0.01)
        tensors = [self.one_json(run("inspect", self.path(name), "--json"))["tensors"]
                   for name in ("q8.gguf", "m.gguf")]
        self.assertEqual(*tensors)
        self.assert_done(self.merge(self.path("q8.gguf"), adapter, self.path("f.gguf"), "--type",
                                    "f16"))
        self.assertEqual(self.generate(self.path("f.gguf"))["finish_reason"], "length")

    def test_refusals(self):
        folder, out = self.hf_folder("hf-no"), self.path("no-out")
        adapter = self.query_adapter()
        invoked = self.query_adapter("invoked", alora_invocation_tokens=[1, 2])
        wide = self.adapter("wide", [(LLAMA_LAYER + "q_proj", 17, 16)])
        os.mkdir(self.path("there"))
        for args, code, says in (
                ((folder, adapter), USAGE, "OUT"),
                ((folder, adapter, self.path("there")), USAGE, "it exists already"),
                ((folder, adapter, os.path.join(adapter, "adapter_config.json")), USAGE,
                 "it is a file that this command reads"),
                ((folder, adapter, out, "--type", "F16"), USAGE, "name a .gguf file as OUT"),
                ((folder, adapter, out, "--type", "F17"), USAGE, "expected one of F32"),
                ((folder, adapter + ":9e9", out), USAGE, "PATH"),
                ((self.model, adapter, out), USAGE, "a name that ends in .gguf"),
                ((folder, adapter, out + ".gguf"), MODEL, "tokenizer"),
                ((folder, self.path("missing"), out), MODEL, "missing"),
                ((folder, invoked, out), MODEL, "invocation tokens"),
                ((folder, wide, out), MODEL, "it has 17 columns, but the model 16"),
                ((folder, adapter, self.path("no/out")), IO, "cannot write")):
            with self.subTest(args):
                self.assert_error(self.merge(*args), code, says)
        self.assertFalse([n for n in os.listdir(self.folder) if n.startswith("no-out")])

    def test_weights_that_become_infinite(self):
        config, tensors = model_files.tiny_hf()
        shape = [model_files.HF_HIDDEN] * 2
        big = [(n, "F16", s, b"\xff\x7b" * (len(c) // 4))  # 65504, the largest of F16
               if n == LLAMA_LAYER + "q_proj.weight" else (n, d, s, c) for n, d, s, c in tensors]
        self.assertTrue(any(t[2] == shape and t[1] == "F16" for t in big))
        folder = self.hf_folder("big", config, big)
        ones = [(f"base_model.model.{LLAMA_LAYER}q_proj.lora_{half}.weight", "F32", size,
                 packed([100.0] * 32)) for half, size in (("A", [2, 16]), ("B", [16, 2]))]
        adapter = self.peft("ones", ones, [LLAMA_LAYER + "q_proj"])
        self.assert_error(self.merge(folder, adapter, self.path("inf")), MODEL, "q_proj.weight",
                          "row 0")
        self.assertFalse(os.path.exists(self.path("inf")))


class Convert(LoraFiles):
    def modules(self):
        hidden, ffn, kv = model_files.HF_HIDDEN, model_files.HF_FFN, model_files.HF_KV
        return [(LLAMA_LAYER + "q_proj", hidden, hidden), (LLAMA_LAYER + "k_proj", hidden, kv),
                ("model.layers.0.mlp.down_proj", ffn, hidden)]

    def test_there_and_back(self):
        folder = self.hf_folder("hf")
        names = [m[0] for m in self.modules()]
        peft = self.adapter("peft", self.modules(), base_model_name_or_path="the/hf",
                            alpha_pattern={names[0]: 6}, alora_invocation_tokens=[283, 289])
        self.assert_done(self.convert(folder, peft, self.path("there.gguf")))
        found = self.inspect(self.path("there.gguf"))
        self.assertEqual((found["format"], found["architecture"], found["base_model"],
                          found["invocation_tokens"]), ("gguf", "llama", "the/hf", [283, 289]))
        # One alpha for all: B of the pair with twice the alpha is doubled.
        self.assertEqual({p["module"]: p["scale"] for p in found["pairs"]},
                         {"blk.1.attn_q.weight": 1.5, "blk.1.attn_k.weight": 1.5,
                          "blk.0.ffn_down.weight": 1.5})
        self.assert_done(self.convert(folder, self.path("there.gguf"), self.path("back")))
        found = self.inspect(self.path("back"))
        self.assertEqual(sorted(p["module"] for p in found["pairs"]), sorted(names))
        self.assertEqual((found["base_model"], found["invocation_tokens"]), ("the/hf", [283, 289]))
        before = read_safetensors(os.path.join(peft, "adapter_model.safetensors"))
        after = read_safetensors(self.path("back/adapter_model.safetensors"))
        doubled = f"base_model.model.{names[0]}.lora_B.weight"
        self.assertEqual({n: t for n, t in after.items() if n != doubled},
                         {n: t for n, t in before.items() if n != doubled})
        values = struct.unpack("<32f", before[doubled][2])
        self.assertEqual(after[doubled][2], packed([2 * v for v in values]))
        config = json.loads(self.read("back/adapter_config.json"))
        self.assertEqual((config["peft_type"], config["r"], config["lora_alpha"]), ("LORA", 2, 3))
        self.assertEqual(sorted(config["target_modules"]), sorted(names))
        want = self.generate(folder, "--lora", peft)["digest"]
        self.assertNotEqual(self.generate(folder)["digest"], want)
        for path in (self.path("there.gguf"), self.path("back")):
            self.assertEqual(self.generate(folder, "--lora", path)["digest"], want)

    def test_a_product_that_is_too_large_is_named(self):
        names = [m[0] for m in self.modules()]
        tensors = []
        for module, inputs, outputs in self.modules():
            b = [3e38 if module == names[0] else 1.0] * (outputs * self.RANK)
            for half, shape, values in (("A", [self.RANK, inputs], [1.0] * (inputs * self.RANK)),
                                        ("B", [outputs, self.RANK], b)):
                tensors.append((f"base_model.model.{module}.lora_{half}.weight", "F32", shape,
                                packed(values)))
        peft = self.peft("large", tensors, names, alpha_pattern={names[0]: 2 * self.ALPHA})
        result = self.convert(self.hf_folder("hf"), peft, self.path("large.gguf"))
        self.assert_error(result, MODEL, "tensor blk.1.attn_q.weight.lora_b",
                          "times 2 it is too large for F32")
        self.assertFalse(os.path.exists(self.path("large.gguf")))

    def test_what_gguf_cannot_say(self):
        tied = self.tied_folder("tied")
        hidden, vocab = model_files.HF_HIDDEN, model_files.HF_VOCAB
        head = self.adapter("head", [("lm_head", hidden, vocab)])
        self.assert_error(self.convert(tied, head, self.path("no.gguf")), MODEL,
                          "lm_head.lora_B.weight")
        folder = self.hf_folder("hf-scales")
        zero = self.adapter("zero", self.modules(), lora_alpha=0)
        self.assert_error(self.convert(folder, zero, self.path("no.gguf")), MODEL, "scales are 0")
        self.assertFalse(os.path.exists(self.path("no.gguf")))
        odd = self.adapter("odd", self.modules(), alpha_pattern={self.modules()[0][0]: 5})
        result = self.assert_done(self.convert(folder, odd, self.path("odd.gguf")))
        self.assertIn("warning: scales of pairs differ", result.err)

    def test_refusals(self):
        folder = self.hf_folder("hf-no")
        peft = self.adapter("peft-no", self.modules())
        gguf = self.path("good.gguf")
        self.assert_done(self.convert(folder, peft, gguf))
        os.mkdir(self.path("there"))
        for args, code, says in (
                ((folder, peft), USAGE, "OUT"),
                ((folder, peft, self.path("out")), USAGE, "ends in .gguf"),
                ((folder, gguf, self.path("out.gguf")), USAGE, "the name of a folder"),
                ((folder, gguf, self.path("there")), USAGE, "it exists already"),
                ((folder, gguf, gguf), USAGE, "it is a file that this command reads"),
                ((self.model, peft, self.path("out.gguf")), MODEL, "columns, but the model"),
                ((folder, self.path("missing"), self.path("out.gguf")), MODEL, "missing"),
                ((folder, peft, self.path("no/out.gguf")), IO, "cannot write")):
            with self.subTest(args):
                self.assert_error(self.convert(*args), code, says)
        self.assertFalse([n for n in os.listdir(self.folder) if n.startswith("out")])


class Faults(faults.FaultTest, LoraFiles):
    """Files and folders appear complete, or not at all."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        os.mkdir(cls.path("out"))

    def commands(self):
        folder, adapter = self.hf_folder("hf"), self.query_adapter()
        gguf = self.path("adapter.gguf")
        self.assert_done(self.convert(folder, adapter, gguf))
        return {"m": ("merge", folder, adapter), "m.gguf": ("merge", folder, adapter),
                "a": ("convert", folder, gguf), "a.gguf": ("convert", folder, adapter)}

    def arguments(self, name, command):
        more = ("--no-tokenizer",) if name == "m.gguf" else ()
        return ("lora", *command, self.path("out/" + name), *more)

    def test_a_full_disk_at_every_write(self):
        for name, command in self.commands().items():
            for number in range(1, CALLS_MAX):
                self.clear()
                result = self.faulty(*self.arguments(name, command), path=self.path("out"),
                                     fault=f"errno:{errno.ENOSPC}@{number}",
                                     calls=("write", "fsync", "rename"))
                if not self.hits:
                    self.assertEqual(result.code, DONE, result)
                    self.assertGreater(number, 2)
                    break
                with self.subTest(name=name, number=number):
                    if result.code != DONE:  # a folder that cannot be synced is no error
                        self.assert_error(result, IO, "cannot write: ")
                        self.assert_only([], self.path("out"))
            else:
                self.fail(f"the fault was still met at call {CALLS_MAX}")

    def clear(self):
        for root, folders, files in os.walk(self.path("out"), topdown=False):
            for file in files:
                os.unlink(os.path.join(root, file))
            for folder in folders:
                os.rmdir(os.path.join(root, folder))

    def test_signals_leave_nothing(self):
        hidden = model_files.tiny.HIDDEN
        adapter = self.adapter("tiny", [("model.layers.0.self_attn.q_proj", hidden, hidden)])
        for args in (("merge", self.hf_folder("hf"), self.query_adapter(),
                      self.path("out/m")), ("merge", self.model, adapter, self.path("out/m.gguf"))):
            for sent, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
                self.clear()
                with self.stopped("lora", *args, at=1, path=self.path("out"),
                                  call="write") as (process, go_on):
                    self.assertIsNotNone(go_on, "the run had no such call")
                    process.send_signal(sent)
                    go_on()
                    result = ingot.finish(process)
                self.assertEqual(result.code, code, result)
                self.assert_only([], self.path("out"))

    def test_a_second_signal_ends_at_once_and_leaves_nothing(self):
        for at in (1, 2):
            self.clear()
            args = ("lora", "merge", self.hf_folder("hf"), self.query_adapter(), self.path("out/m"))
            with self.stopped(*args, at=at, path=self.path("out"),
                              call="write") as (process, go_on):
                self.assertIsNotNone(go_on, "the run had no such call")
                process.send_signal(signal.SIGINT)
                process.send_signal(signal.SIGINT)
                result = ingot.finish(process)
            self.assertEqual(result.code, 130, result)
            self.assert_only([], self.path("out"))


if __name__ == "__main__":
    ingot.main()
