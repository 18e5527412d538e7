#!/usr/bin/env python3
"""Tests ingot lora inspect: what it shows of an adapter, and what it refuses."""
import os
import unittest

import ingot
from ingot import MODEL, SHARED, USAGE, run


class Inspect(ingot.CliTest):
    def adapter(self, name):
        path = os.path.join(SHARED, "references", "lora", name)
        if not os.path.exists(path):
            self.skipTest(f"no shared data in {path}")
        return path

    def test_json_names_every_pair(self):
        path = self.adapter("llama-r8-patterns")
        found = self.one_json(self.assert_done(run("lora", "inspect", path, "--json")))
        self.assertEqual(found["format"], "peft")
        self.assertEqual(found["base_model"], "llama")
        self.assertEqual(found["invocation_tokens"], [])
        pairs = {pair["module"]: pair for pair in found["pairs"]}
        self.assertEqual(len(pairs), 14)
        for module, rank, alpha in (("layers.0.self_attn.q_proj", 4, 16),
                                    ("layers.0.self_attn.v_proj", 8, 32),
                                    ("layers.1.mlp.down_proj", 2, 16),
                                    ("layers.0.mlp.down_proj", 8, 16)):
            pair = pairs["model." + module]
            self.assertEqual((pair["kind"], pair["rank"], pair["alpha"], pair["scale"]),
                             ("linear", rank, alpha, alpha / rank))
            self.assertEqual(pair["a"]["shape"][0], rank)
        size = sum(4 * t["shape"][0] * t["shape"][1] for pair in found["pairs"]
                   for t in (pair["a"], pair["b"]))
        self.assertEqual(found["bytes"], size)

    def test_text_and_gguf(self):
        path = self.adapter("gguf/llama-r8-all.gguf")
        text = self.assert_done(run("lora", "inspect", path)).out.decode()
        self.assertIn("format      GGUF\n", text)
        self.assertIn("rank        8\n", text)
        self.assertIn("blk.0.attn_q.weight  linear  rank 8  scale 2  ", text)
        found = self.one_json(run("lora", "inspect", path, "--json"))
        self.assertEqual((found["format"], found["architecture"]), ("gguf", "llama"))

    def test_refusals_name_the_key_or_the_tensor(self):
        for name, part in (("bias", "bias is 'lora_only'"), ("dora", "use_dora is true"),
                           ("modules-to-save", "modules_to_save"), ("peft-type", "peft_type is"),
                           ("half-pair", "is missing, lora_B"), ("not-finite", "not finite")):
            path = self.adapter(f"refused-{name}")
            self.assert_error(run("lora", "inspect", path), MODEL, part)
        self.assert_error(run("lora", "inspect", self.model), MODEL, "general.type")
        self.assert_error(run("lora", "inspect", "/nowhere"), MODEL, "/nowhere")

    def test_a_subcommand_is_needed(self):
        self.assert_error(run("lora"), USAGE, "inspect")
        self.assert_error(run("lora", "inspect"), USAGE, "PATH")


if __name__ == "__main__":
    ingot.main()
