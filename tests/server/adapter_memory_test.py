#!/usr/bin/env python3
"""Tests the memory that a server keeps for adapters which are loaded later."""
import os
import re
import shutil
import tempfile
import unittest

import server
from adapters_test import HERE, TENSORS, make_adapter


class MemoryOfLoads(unittest.TestCase):
    """What the log says about memory for adapters that are loaded later."""

    def said(self, folder, *args):
        one = server.Server("--lora-dir", folder, *args)
        self.addCleanup(one.kill)
        settings = one.get("/props").json()["settings"]
        kept, self.kv_tokens = settings["later_adapter_bytes"], settings["kv_tokens"]
        self.assertEqual(one.stop(), 0)
        return kept, "\n".join(one.lines)

    def test_an_empty_folder_keeps_none(self):
        with tempfile.TemporaryDirectory(prefix="ingot-adapters-") as folder:
            kept, lines = self.said(folder)
            self.assertEqual(kept, 0)
            self.assertIn("no adapter is known yet", lines)

    def test_a_broken_adapter_is_passed_over(self):
        with tempfile.TemporaryDirectory(prefix="ingot-adapters-") as folder:
            make_adapter(os.path.join(folder, "a"), use_dora=True)
            make_adapter(os.path.join(folder, "b"))
            kept, lines = self.said(folder, "--max-loras", "5")
            self.assertGreater(kept, 0)
            self.assertEqual(kept % 5, 0)
            self.assertIn("--lora-dir: a/adapter_config.json: config: use_dora is true", lines)
            self.assertNotIn("/proc", lines)
            few, lines = self.said(folder, "--max-loras", "256", "--memory-limit", "48M")
            self.assertIn("--max-loras 256: memory is kept for ", lines)
            self.assertLess(few, 256 * kept // 5)
            found = re.search(r"kept for (\d+) instead of 256 more adapters of (\d+) bytes each, "
                              r"beside (\d+) KV tokens", lines)
            number, each, tokens = map(int, found.groups())
            self.assertEqual((few, each), (number * each, kept // 5))
            self.assertEqual(tokens, self.kv_tokens)
            with tempfile.TemporaryDirectory(prefix="ingot-adapters-") as empty:
                self.said(empty, "--memory-limit", "48M")
            self.assertGreaterEqual(2 * tokens, self.kv_tokens, "half stays for sequences")

    def test_a_draft_model_comes_first(self):
        draft = os.path.join(HERE, "../../models/ingot-demo-draft.gguf")
        with tempfile.TemporaryDirectory(prefix="ingot-adapters-") as folder:
            make_adapter(os.path.join(folder, "a"))
            kept, lines = self.said(folder, "--max-loras", "256", "--memory-limit", "112M",
                                    "--kv-tokens", "1024", "--draft", draft)
            self.assertEqual(kept, 0)
            self.assertIn("--draft: later adapters get what the draft model leaves", lines)

    def test_large_files_are_not_read(self):
        """Files without blocks on the disk: a base model, and an adapter as large as no memory."""
        with tempfile.TemporaryDirectory(prefix="ingot-adapters-") as folder:
            make_adapter(os.path.join(folder, "a"))
            make_adapter(os.path.join(folder, "huge"))
            os.truncate(os.path.join(folder, "huge", TENSORS), 4 << 30)
            os.mkdir(os.path.join(folder, "base"))
            model = os.path.join(folder, "base", "model.gguf")
            shutil.copy(os.path.join(HERE, "../../models/ingot-demo.gguf"), model)
            os.truncate(model, 8 << 30)
            kept, lines = self.said(folder, "--max-loras", "5", "--memory-limit", "512M")
            self.assertGreater(kept, 0)
            for name, size in ("huge", 4 << 30), ("base", 8 << 30):
                self.assertIn(f"--lora-dir: {name}: the file has {size} bytes", lines)
            os.truncate(model, 300 << 20)
            kept, lines = self.said(folder, "--max-loras", "5", "--memory-limit", "512M")
            self.assertGreater(kept, 0)
            self.assertIn("--lora-dir: base/model.gguf: metadata: the first 1048576 bytes do not "
                          "say general.type = 'adapter'", lines)


if __name__ == "__main__":
    server.main()
