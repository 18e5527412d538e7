#!/usr/bin/env python3
"""Tests damaged model files in every command: one line says what is wrong, and where.

The loaders' own tests cover every field; this test covers each kind of damage as a user meets it.
"""
import copy
import json
import math
import os
import random
import struct

import ingot
import model_files
from ingot import CHECK_FAILED, DONE, MODEL, SWEPT, WITHOUT_TOKENIZER, arguments, run
from model_files import ARRAY, BOOL, FLOAT32, INT32, NAN, STRING, UINT8, UINT32, UINT64

HUGE_COUNTS = (1 << 63, (1 << 64) - 1, 1 << 32)


class ModelTest(ingot.CliTest):
    def refused(self, path, *says, file=None, commands=SWEPT):
        for command in commands:
            result = run(*arguments(command, path, self.folder))
            self.assert_model_error(result, file or path, *says)
            self.assertFalse(os.path.exists(self.path("out.npy")))

    def refused_bytes(self, content, *says, commands=("run",)):
        self.refused(self.file("hostile.gguf", content), *says, commands=commands)


class GgufStructure(ModelTest):
    """Files whose structure is wrong."""

    def test_truncation_at_section_boundaries(self):
        model = model_files.tiny_gguf()
        whole = model.build()
        marks = sorted(set(model.marks.values()) | {len(whole)})
        cuts = {0, 1, 3, 4, 7, 8, 15, 16, 23}
        for mark in marks:
            cuts |= {mark - 1, mark, mark + 1}
        cuts -= {len(whole), len(whole) + 1}
        for cut in sorted(cuts):
            with self.subTest(cut=cut):
                self.refused_bytes(whole[:cut], commands=SWEPT)

    def test_truncation_all_over_the_head(self):
        model = model_files.tiny_gguf()
        whole = model.build()
        step = 211 if ingot.SANITIZERS else 97
        for cut in range(24, model.marks["data"], step):
            with self.subTest(cut=cut):
                self.refused_bytes(whole[:cut], commands=("inspect",))

    def test_bytes_after_the_end(self):
        path = self.file("longer.gguf", model_files.tiny_gguf().build() + bytes(1 << 20))
        result = self.assert_done(run("inspect", path))
        self.assertIn("1048576 bytes behind the last tensor are ignored", result.err)

    def test_magic_and_version(self):
        whole = model_files.tiny_gguf().build()
        for magic in (b"GGML", b"gguf", b"FUGG", b"\0\0\0\0", b"PK\x03\x04", b"\x1b[2J"):
            with self.subTest(magic=magic):
                self.refused_bytes(magic + whole[4:], commands=SWEPT)
        for version in (0, 1, 4, 0xFFFFFFFF, 0x03000000):
            with self.subTest(version=version):
                self.refused_bytes(whole[:4] + struct.pack("<I", version) + whole[8:])
        self.refused_bytes(whole[:4] + struct.pack(">I", 3) + whole[8:], "endian")

    def test_huge_counts(self):
        model = model_files.tiny_gguf()
        for count in HUGE_COUNTS + (len(model.tensors) + 1, len(model.tensors) - 1, 65537):
            with self.subTest(tensors=count):
                self.refused_bytes(model.build(tensor_count=count))
        for count in HUGE_COUNTS + (len(model.metadata) + 1, len(model.metadata) - 1, 65537):
            with self.subTest(pairs=count):
                self.refused_bytes(model.build(pair_count=count))

    def test_huge_lengths(self):
        model = model_files.tiny_gguf()
        whole = model.build()
        at = model.marks["metadata"]
        tensors = model.marks["tensors"]
        for length in HUGE_COUNTS + (0, 65537, len(whole)):
            packed = struct.pack("<Q", length)
            with self.subTest(length=length):
                self.refused_bytes(whole[:at] + packed + whole[at + 8:])
                self.refused_bytes(whole[:tensors] + packed + whole[tensors + 8:])

    def test_arrays_that_lie(self):
        for kind, count in ((STRING, 1 << 61), (FLOAT32, 1 << 62), (UINT8, (1 << 64) - 1),
                            (UINT64, 1 << 61), (ARRAY, 1), (99, 1), (BOOL, 1 << 63)):
            with self.subTest(kind=kind, count=count):
                model = model_files.tiny_gguf()
                model.set("extra", (ARRAY, kind), struct.pack("<IQ", kind, count))
                self.refused_bytes(model.build())

    def test_names_with_control_characters_are_escaped(self):
        model = model_files.tiny_gguf()
        model.tensors[3][0] = "blk\x1b]0;title\x07\n.weight"
        self.refused_bytes(model.build(), commands=SWEPT)
        model = model_files.tiny_gguf()
        model.metadata.append(("a\x1b[31mkey\n", UINT32, 1))
        result = run("inspect", self.file("named.gguf", model.build()))
        self.assert_clean(result, (MODEL,))
        self.assertNotIn(b"\x1b", result.out)
        model = model_files.tiny_gguf().set("general.architecture", STRING, "\x1b[31mno\u202e\n")
        self.refused_bytes(model.build())

    def test_duplicate_names(self):
        model = model_files.tiny_gguf()
        model.metadata.append(model.metadata[5])
        self.refused_bytes(model.build(), model.metadata[5][0])
        model = model_files.tiny_gguf()
        model.tensors.append(copy.deepcopy(model.tensors[4]))
        self.refused_bytes(model.build(), model.tensors[4][0])

    def test_offsets_that_leave_the_file_or_overlap(self):
        for offset in (1, 32, 1 << 40, (1 << 64) - 32, 1 << 63):
            model = model_files.tiny_gguf()
            model.offsets["blk.0.attn_q.weight"] = offset
            with self.subTest(offset=offset):
                self.refused_bytes(model.build())

    def test_dimensions(self):
        for dims in ([], [1] * 5, [0, 320], [1 << 32, 1 << 32], [1 << 62], [(1 << 64) - 1]):
            model = model_files.tiny_gguf()
            model.tensor("token_embd.weight")[1] = dims
            with self.subTest(dims=dims):
                self.refused_bytes(model.build())

    def test_types_of_tensors(self):
        for kind in (4, 5, 42, 255, 0xFFFFFFFF, 24, 34):
            model = model_files.tiny_gguf()
            model.tensor("token_embd.weight")[2] = kind
            with self.subTest(kind=kind):
                self.refused_bytes(model.build(), "type")


class GgufMeaning(ModelTest):
    """A file of good form that is no model we can run."""

    def test_unknown_architectures(self):
        for name in ("no-such", "", "LLAMA", "llama\0", "../../etc/passwd", "x" * 100000):
            model = model_files.tiny_gguf().set("general.architecture", STRING, name)
            with self.subTest(name=name[:20]):
                self.refused_bytes(model.build(), commands=SWEPT)
        self.refused_bytes(model_files.tiny_gguf().without("general.architecture").build())

    def test_tensors_too_few_and_too_many(self):
        for name in ("token_embd.weight", "blk.1.ffn_down.weight", "output_norm.weight"):
            with self.subTest(missing=name):
                # Without its ends it is a backbone, which can be inspected and run in part.
                self.refused_bytes(model_files.tiny_gguf().without_tensor(name).build(), name,
                                   commands=SWEPT if "blk" in name else ("run", "logits"))
        for name in ("blk.2.attn_q.weight", "blk.0.attn_q.bias2", "extra", "blk.99.x"):
            model = model_files.tiny_gguf()
            model.tensors.append([name, [64], model_files.F32, bytes(256)])
            with self.subTest(extra=name):
                self.refused_bytes(model.build(), name, commands=SWEPT)

    def test_shapes(self):
        for name, dims in (("blk.0.attn_q.weight", [64, 32]), ("blk.0.attn_k.weight", [32, 64]),
                           ("blk.1.ffn_down.weight", [64, 128]), ("output_norm.weight", [63]),
                           ("blk.0.attn_norm.weight", [64, 2]), ("output.weight", [64, 321]),
                           ("blk.0.ffn_gate.weight", [64, 128, 2])):
            with self.subTest(name=name, dims=dims):
                self.refused_bytes(model_files.tiny_gguf().resize(name, dims).build(), name)

    def test_vocabulary_and_embeddings_disagree(self):
        for rows in (319, 1):
            model = model_files.tiny_gguf()
            for name in ("token_embd.weight", "output.weight"):
                model.resize(name, [64, rows])
            with self.subTest(rows=rows):
                self.refused_bytes(model.without("llama.vocab_size").build())
        # More rows than tokens are padding: allowed, and never drawn.
        model = model_files.tiny_gguf()
        for name in ("token_embd.weight", "output.weight"):
            old = model.tensor(name)[3]
            model.resize(name, [64, 352])
            model.tensor(name)[3] = old + struct.pack("<f", 100.0) * (64 * 32)
        model.without("llama.vocab_size")
        result = run("run", self.file("padded.gguf", model.build()), "--tokens", "1,283", "--json",
                     "--max-tokens", "20", "--temperature", "5")
        found = self.one_json(self.assert_done(result))
        self.assertTrue(all(i < 320 for i in found["ids"]), found["ids"])
        model = model_files.tiny_gguf()
        model.set("tokenizer.ggml.scores", (ARRAY, FLOAT32), [0.0] * 319)
        self.refused_bytes(model.build())
        model.set("tokenizer.ggml.scores", (ARRAY, FLOAT32), [0.0] * 319 + [math.nan])
        self.refused_bytes(model.build())

    def test_every_key_with_every_other_type(self):
        values = {UINT8: 1, UINT32: 1, INT32: -1, FLOAT32: 1.0, BOOL: 1, STRING: "1",
                  (ARRAY, UINT32): [1], (ARRAY, STRING): ["1"]}
        good = model_files.tiny_gguf()
        numbers = (UINT8, UINT32, INT32)
        for key, own, _ in good.metadata:
            for kind, value in values.items():
                if kind == own or (own == UINT32 and kind in numbers) or key == "general.name":
                    continue
                if ingot.SANITIZERS and kind not in (STRING, FLOAT32, INT32):
                    continue
                with self.subTest(key=key, kind=kind):
                    path = self.file("typed.gguf", good.copy().set(key, kind, value).build())
                    # A key of no use to the program may hold anything.
                    result = run("inspect", path)
                    if key in ("general.file_type", "llama.vocab_size") or (
                            key.startswith("llama.attention.head_count") and
                            isinstance(kind, tuple)):
                        self.assert_clean(result, (MODEL,))
                    else:
                        self.assert_model_error(result, path)

    def test_numbers_out_of_range(self):
        for key, kind, values in (
                ("llama.block_count", UINT32, (0, 1, 3, 513, 0xFFFFFFFF)),
                ("llama.embedding_length", UINT32, (0, 63, 1 << 31)),
                ("llama.attention.head_count", UINT32, (0, 3, 0xFFFFFFFF)),
                ("llama.attention.head_count_kv", UINT32, (0, 3, 8)),
                ("llama.rope.dimension_count", UINT32, (0, 15, 64, 1 << 31)),
                ("llama.rope.freq_base", FLOAT32, (0.0, -1.0, math.nan, math.inf, 1e-38)),
                ("llama.attention.layer_norm_rms_epsilon", FLOAT32, (math.nan, 0.0, -1.0, 1e30)),
                ("llama.context_length", UINT32, (0,)),
                ("llama.feed_forward_length", UINT32, (0, 127, 0xFFFFFFFF)),
                ("general.alignment", UINT32, (0, 1, 3, 1 << 31)),
                ("tokenizer.ggml.eos_token_id", UINT32, (320, 1 << 31)),
                ("tokenizer.ggml.model", STRING, ("", "no-such", "\x1b")),
                ("tokenizer.ggml.pre", STRING, ("no-such", "\x1b[0m"))):
            for value in values:
                with self.subTest(key=key, value=value):
                    model = model_files.tiny_gguf().set(key, kind, value)
                    result = run("inspect", self.file("range.gguf", model.build()))
                    if key == "tokenizer.ggml.pre":
                        # It says how byte-level text is cut; this tokenizer does not ask for it.
                        self.assert_clean(result, (MODEL,))
                        continue
                    self.assert_model_error(result, self.path("range.gguf"))

    def test_a_context_beyond_any_memory(self):
        model = model_files.tiny_gguf().set("llama.context_length", UINT32, 0xFFFFFFFF)
        path = self.file("long.gguf", model.build())
        for command in SWEPT:
            self.assert_clean(run(*arguments(command, path, self.folder)), (MODEL,))

    def test_a_model_without_a_tokenizer_takes_ids(self):
        model = model_files.tiny_gguf()
        model.metadata = [m for m in model.metadata if not m[0].startswith("tokenizer.")]
        path = self.file("bare.gguf", model.build())
        found = self.one_json(self.assert_done(
            run("run", path, "--tokens", "1,283", "--json", "--max-tokens", "3")))
        self.assertIsNone(found["text"])
        for args in (("-p", "a", "--json"), ("--tokens", "1")):
            self.assert_error(run("run", path, *args), MODEL, "tokenizer")
        bpe = model.copy()
        for m in model_files.tiny_gguf().metadata:
            if m[0] == "tokenizer.ggml.tokens":
                bpe.metadata.append(m)
        self.assert_clean(run("inspect", self.file("half.gguf", bpe.build())), (MODEL,))

    def test_a_vocabulary_alone_is_no_model(self):
        model = model_files.tiny_gguf()
        model.tensors = []
        self.refused_bytes(model.build(), "vocabulary", commands=SWEPT)


class NotFinite(ModelTest):
    """Weights that are NaN or infinite load, the row fails, and --check-tensors says where."""

    def check(self, path, file, tensor):
        result = run("run", path, "--tokens", "1,283,289", "--print-ids", "--max-tokens", "4")
        self.assert_error(result, CHECK_FAILED, "NaN", "--check-tensors")
        for command in ("run", "logits"):
            line = self.assert_model_error(
                run(*arguments(command, path, self.folder, "--check-tensors")), file)
            self.assertIn(tensor, line)
            self.assertRegex(line, "NaN|infinite")
        self.assert_done(run("inspect", path))

    def test_gguf(self):
        inf = struct.pack("<f", math.inf)
        for name in ("blk.0.attn_q.weight", "blk.1.ffn_norm.weight", "output.weight",
                     "token_embd.weight"):
            for value in (NAN, inf):
                model = model_files.tiny_gguf()
                tensor = model.tensor(name)
                # One element of every row, so that no row escapes it.
                width = 4 * tensor[1][0]
                content = bytearray(tensor[3])
                for row in range(0, len(content), width):
                    content[row:row + 4] = value
                tensor[3] = bytes(content)
                path = self.file("nan.gguf", model.build())
                with self.subTest(name=name, value=value):
                    if value == NAN:
                        self.check(path, path, name)
                    else:
                        self.assert_clean(run(*arguments("run", path, self.folder)),
                                          (CHECK_FAILED,))
                        self.assert_model_error(run(*arguments("run", path, self.folder,
                                                               "--check-tensors")), path, name)

    def test_safetensors(self):
        config, tensors = model_files.tiny_hf()
        tensors = [(n, d, s, NAN * (len(c) // 4) if n == "model.layers.1.mlp.up_proj.weight" else c)
                   for n, d, s, c in tensors]
        folder = self.hf_folder("nan", config, tensors)
        self.check(folder, folder + "/model.safetensors", "model.layers.1.mlp.up_proj.weight")

    def test_what_is_finite_passes(self):
        self.assertEqual(self.generate(None, "--check-tensors")["digest"],
                         self.generate()["digest"])

    def test_a_layer_that_is_not_run_is_not_checked(self):
        model = model_files.tiny_gguf()
        tensor = model.tensor("blk.0.attn_q.weight")
        tensor[3] = NAN * (len(tensor[3]) // 4)
        path = self.file("half-nan.gguf", model.build())
        embeds = self.file("e.npy", model_files.npy(2, 64))
        self.assert_done(run("logits", path, "--embeds", embeds, "--layers", "1:2", "--out",
                             self.path("stage.npy"), "--check-tensors"))
        os.unlink(self.path("stage.npy"))


class Split(ModelTest):
    """Sets of several files."""

    def parts(self, count=3, model=None):
        for name in os.listdir(self.folder):
            if name.startswith("m-0"):
                os.unlink(self.path(name))
        parts = model_files.split_gguf(model or model_files.tiny_gguf(), count)
        self.write(parts)
        return parts

    def write(self, parts):
        for i, part in enumerate(parts):
            self.file(model_files.part_name("m", i, len(parts)), part.build())

    def first(self, count=3):
        return self.path(model_files.part_name("m", 0, count))

    def test_a_good_set(self):
        self.parts()
        digest = self.generate()["digest"]
        self.assertEqual(self.generate(self.first())["digest"], digest)
        folder = self.path("set")
        os.mkdir(folder)
        for i in range(3):
            name = model_files.part_name("m", i, 3)
            os.link(self.path(name), os.path.join(folder, name))
        self.assertEqual(self.generate(folder)["digest"], digest)

    def test_missing_parts(self):
        for i in (1, 2):
            self.parts()
            os.unlink(self.path(model_files.part_name("m", i, 3)))
            self.refused(self.first(), "no such file",
                         file=self.path(model_files.part_name("m", i, 3)))

    def test_another_part_in_its_place(self):
        self.parts()
        os.replace(self.path(model_files.part_name("m", 2, 3)),
                   self.path(model_files.part_name("m", 1, 3)))
        self.assert_error(run("inspect", self.first()), MODEL)
        self.parts()
        os.replace(self.first(), self.path(model_files.part_name("m", 1, 3)))
        self.assert_error(run("inspect", self.path(model_files.part_name("m", 1, 3))), MODEL)

    def test_a_part_of_another_model(self):
        parts = self.parts()
        other = model_files.split_gguf(model_files.tiny_gguf().without_tensor("output.weight"), 3)
        self.write([parts[0], other[1], parts[2]])
        self.assert_error(run("inspect", self.first()), MODEL)

    def test_numbers_that_lie(self):
        for key, kind, value in (("split.count", model_files.UINT16, 65535),
                                 ("split.count", model_files.UINT16, 2),
                                 ("split.no", model_files.UINT16, 3),
                                 ("split.tensors.count", INT32, 1),
                                 ("split.tensors.count", INT32, -1),
                                 ("split.count", STRING, "../../x")):
            parts = self.parts()
            parts[0].set(key, kind, value)
            self.write(parts)
            with self.subTest(key=key, value=value):
                self.assert_error(run("inspect", self.first()), MODEL)

    def test_a_name_without_numbers(self):
        self.parts()
        renamed = self.path("renamed.gguf")
        os.replace(self.first(), renamed)
        self.assert_model_error(run("inspect", renamed), renamed)

    def test_special_files_as_parts(self):
        self.parts()
        second = self.path(model_files.part_name("m", 1, 3))
        os.unlink(second)
        os.mkfifo(second)
        self.refused(self.first(), "not a regular file", file=second)
        os.unlink(second)
        os.symlink(second, second)
        self.refused(self.first(), file=second)
        os.unlink(second)
        os.symlink("/dev/zero", second)
        self.refused(self.first(), file=second)


class Safetensors(ModelTest):
    """Folders as Hugging Face has them."""

    def refused_folder(self, *says, config=None, tensors=None, file="config.json"):
        folder = self.hf_folder("hostile", config, tensors)
        result = run(*arguments("run", folder, self.folder))
        line = self.assert_error(result, MODEL, *says)
        self.assertRegex(line, r"^error: .+: .+ @[0-9]+: .")
        self.assertIn(file, line)

    def test_a_good_folder(self):
        folder = self.hf_folder("good")
        for command in WITHOUT_TOKENIZER:
            self.assert_done(run(*arguments(command, folder, self.folder)))
        self.assert_done(run(*arguments("run", folder + "/", self.folder)))
        os.unlink(self.path("out.npy"))

    def test_files_that_are_cut(self):
        _, tensors = model_files.tiny_hf()
        whole = model_files.safetensors(tensors)
        length, = struct.unpack("<Q", whole[:8])
        for cut in (0, 1, 7, 8, 9, 100, 7 + length, 8 + length, 9 + length, len(whole) - 1):
            with self.subTest(cut=cut):
                self.refused_folder(tensors=whole[:cut], file="model.safetensors")
        self.refused_folder(tensors=whole + b"\0", file="model.safetensors")

    def test_header_lengths(self):
        whole = model_files.safetensors(model_files.tiny_hf()[1])
        for length in (0, 1, 1 << 32, 1 << 63, (1 << 64) - 1, len(whole) - 7, 100_000_001):
            with self.subTest(length=length):
                self.refused_folder(tensors=struct.pack("<Q", length) + whole[8:],
                                    file="model.safetensors")

    def test_headers(self):
        name = "model.norm.weight"
        for header in (b"", b"{}", b"[]", b"null", b"{" * 100000, b'{"a":', b"\xff\xfe{}",
                       json.dumps({name: {}}).encode(),
                       json.dumps({name: {"dtype": "F32", "shape": [16],
                                          "data_offsets": [0, 1 << 63]}}).encode(),
                       json.dumps({name: {"dtype": "F32", "shape": [2, (1 << 64) - 2],
                                          "data_offsets": [0, 64]}}).encode(),
                       json.dumps({name: {"dtype": "F32", "shape": [-16],
                                          "data_offsets": [64, 0]}}).encode(),
                       json.dumps({"x\x1b[0m\n": {"dtype": "\x1b", "shape": [16],
                                                  "data_offsets": [0, 64]}}).encode()):
            with self.subTest(header=header[:60]):
                content = struct.pack("<Q", len(header)) + header + bytes(64)
                self.refused_folder(tensors=content, file="model.safetensors" if header != b"{}"
                                    else "")

    def test_tensors(self):
        good = model_files.tiny_hf()[1]
        name = "model.layers.1.self_attn.k_proj.weight"
        at = next(i for i, t in enumerate(good) if t[0] == name)
        self.refused_folder(name, tensors=good[:at] + good[at + 1:], file="")
        self.refused_folder("extra", tensors=[*good, ("extra", "F32", [1], bytes(4))], file="")
        for dtype, shape in (("F32", [16, 8]), ("F32", [128]), ("F64", [8, 8]), ("I32", [8, 16]),
                             ("BOOL", [8, 64]), ("F99", [8, 16])):
            tensors = list(good)
            tensors[at] = (name, dtype, shape, tensors[at][3])
            with self.subTest(dtype=dtype, shape=shape):
                self.refused_folder(name, tensors=tensors, file="")

    def test_configs(self):
        good, _ = model_files.tiny_hf()
        for content in (b"", b"[]", b"{", b"null", b"\x00", b"{}", b'{"model_type": "llama",}',
                        b'{"model_type":"llama","model_type":"llama"}', b"[" * 200000):
            with self.subTest(content=content[:40]):
                self.refused_folder(config=content)
        for key, values in (("model_type", ("no-such", None, 5, "\x1b[0m")),
                            ("hidden_size", (0, -1, "16", 1.5, None, 1 << 40, [16])),
                            ("num_hidden_layers", (0, 1_000_000_000, -2)),
                            ("num_attention_heads", (0, 3, 5)), ("num_key_value_heads", (0, 3, 8)),
                            ("vocab_size", (0, 1 << 31, -1)), ("rms_norm_eps", (0, -1, "x")),
                            ("rope_theta", (0, -5, "x")), ("head_dim", (0, -4)),
                            ("rope_scaling", ({"type": "no-such", "factor": 2},
                                              {"type": "linear", "factor": 0},
                                              {"type": "linear", "factor": -1}, "linear", [1])),
                            ("quantization_config", ({"quant_method": "no-such"},)),
                            ("eos_token_id", (300, [300], "2"))):
            for value in values:
                with self.subTest(key=key, value=value):
                    self.refused_folder(config={**good, key: value})

    def test_code_in_a_config_is_never_run(self):
        good, _ = model_files.tiny_hf()
        folder = self.hf_folder("auto", {**good, "auto_map": {"AutoModel": "evil.Model"},
                                         "trust_remote_code": True})
        marker = self.path("was-run")
        self.file("auto/evil.py", f"open({marker!r}, 'w')".encode())
        self.assert_done(run("run", folder, "--tokens", "1", "--print-ids"))
        self.assertFalse(os.path.exists(marker))

    def test_an_index_that_leaves_the_folder(self):
        config, tensors = model_files.tiny_hf()
        outside = self.file("outside.safetensors", model_files.safetensors(tensors))
        for name in ("../outside.safetensors", outside, "./model.safetensors", "a/b.safetensors",
                     "..", "", "model.safetensors.index.json", "link.safetensors",
                     "fifo.safetensors", "missing.safetensors", "/dev/zero", "a\0b"):
            folder = self.path("indexed")
            self.file("indexed/config.json", json.dumps(config).encode())
            index = {"metadata": {}, "weight_map": {t[0]: name for t in tensors}}
            self.file("indexed/model.safetensors.index.json", json.dumps(index).encode())
            for special, make in (("link.safetensors", lambda p: os.symlink(outside, p)),
                                  ("fifo.safetensors", os.mkfifo)):
                if not os.path.lexists(os.path.join(folder, special)):
                    make(os.path.join(folder, special))
            with self.subTest(name=name):
                self.assert_error(run(*arguments("run", folder, self.folder)), MODEL)

    def test_two_models_in_one_folder(self):
        folder = self.hf_folder("both")
        self.file("both/other.gguf", b"GGUF")
        result = self.assert_done(run(*arguments("run", folder, self.folder)))
        self.assertIn("warning: other.gguf", result.err)
        for name in ("a.gguf", "b.gguf"):
            self.file("two/" + name, model_files.tiny_gguf().build())
        self.assert_error(run("inspect", self.path("two")), MODEL, "2 GGUF files")


class RandomDamage(ModelTest):
    """Bytes turned at random: refused, or the numbers are others; never worse."""

    def test_turned_bytes(self):
        rng = random.Random(20)
        model = model_files.tiny_gguf()
        whole = model.build()
        for i in range(40 if ingot.SANITIZERS else 150):
            content = bytearray(whole)
            for _ in range(rng.choice((1, 1, 2, 8))):
                content[rng.randrange(model.marks["data"])] = rng.randrange(256)
            path = self.file("turned.gguf", bytes(content))
            with self.subTest(i=i):
                result = run(*arguments("run", path, self.folder), "--ctx", "64")
                self.assertIn(result.code, (DONE, CHECK_FAILED, MODEL, ingot.DOES_NOT_FIT,
                                            ingot.USAGE), result)
                if result.code != DONE:
                    self.assert_error(result, result.code)


if __name__ == "__main__":
    ingot.main()
