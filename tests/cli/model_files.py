"""Makes model files in memory (GGUF and safetensors), for tests that damage them.

Facts of the formats are from the GGUF specification (ggml, docs/gguf.md) and from the safetensors
documentation (huggingface.co/docs/safetensors).
"""
import copy
import functools
import json
import math
import os
import random
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))
import make_tiny_model as tiny  # noqa: E402  (found through the line above)

UINT8, INT8, UINT16, INT16, UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY = range(10)
UINT64, INT64, FLOAT64 = 10, 11, 12
SCALARS = {UINT8: "<B", INT8: "<b", UINT16: "<H", INT16: "<h", UINT32: "<I", INT32: "<i",
           FLOAT32: "<f", BOOL: "<B", UINT64: "<Q", INT64: "<q", FLOAT64: "<d"}
F32, F16 = 0, 1

NAN = struct.pack("<f", math.nan)


class Gguf:
    """A GGUF file as lists, so that each part can be changed before it is written.

    `metadata` holds (key, type, value), an array's type being a pair (ARRAY, element type);
    `tensors` holds [name, dims, type, bytes], the innermost dimension first.
    """

    def __init__(self, metadata, tensors):
        self.metadata, self.tensors = metadata, tensors
        self.version, self.alignment = 3, 32
        self.offsets = {}  # written in place of the true offset of a tensor
        self.marks = {}    # after build: where the sections begin

    def copy(self):
        return copy.deepcopy(self)

    def set(self, key, kind, value):
        """Replaces or adds a metadata value."""
        entry = (key, kind, value)
        for i, (name, _, _) in enumerate(self.metadata):
            if name == key:
                self.metadata[i] = entry
                return self
        self.metadata.append(entry)
        return self

    def get(self, key):
        return next(value for name, _, value in self.metadata if name == key)

    def without(self, key):
        self.metadata = [entry for entry in self.metadata if entry[0] != key]
        return self

    def tensor(self, name):
        return next(t for t in self.tensors if t[0] == name)

    def without_tensor(self, name):
        self.tensors = [t for t in self.tensors if t[0] != name]
        return self

    def resize(self, name, dims):
        """Gives an F32 tensor another shape, with zeros as its values."""
        entry = self.tensor(name)
        entry[1], entry[3] = dims, bytes(4 * math.prod(dims))
        return self

    def build(self, tensor_count=None, pair_count=None, data=True):
        """The bytes of the file; counts may lie, and the data can be left to the caller."""
        count = len(self.tensors) if tensor_count is None else tensor_count
        pairs = len(self.metadata) if pair_count is None else pair_count
        out = bytearray(b"GGUF" + struct.pack("<IQQ", self.version, count, pairs))
        self.marks = {"metadata": len(out)}
        for key, kind, value in self.metadata:
            outer = kind[0] if isinstance(kind, tuple) else kind
            out += text(key) + struct.pack("<I", outer) + encode(kind, value)
        self.marks["tensors"] = len(out)
        end = 0
        places = []
        for name, dims, kind, content in self.tensors:
            end += -end % self.alignment
            places.append(end)
            out += text(name) + struct.pack(f"<I{len(dims)}Q", len(dims), *dims)
            out += struct.pack("<IQ", kind, self.offsets.get(name, end))
            end += len(content)
        self.marks["table_end"] = len(out)
        out += bytes(-len(out) % self.alignment)
        self.marks["data"] = len(out)
        if not data:
            return bytes(out)
        for place, (_, _, _, content) in zip(places, self.tensors):
            out += bytes(self.marks["data"] + place - len(out)) + content
        return bytes(out + bytes(-len(out) % self.alignment))


def text(value):
    content = value if isinstance(value, bytes) else value.encode("utf-8")
    return struct.pack("<Q", len(content)) + content


def encode(kind, value):
    """A metadata value's bytes without its type; bytes are taken as they are."""
    if kind == STRING:
        return text(value)
    if isinstance(value, bytes):
        return value
    if isinstance(kind, tuple):
        return struct.pack("<IQ", kind[1], len(value)) + b"".join(encode(kind[1], v) for v in value)
    return struct.pack(SCALARS[kind], value)


@functools.lru_cache(maxsize=None)
def tiny_parts(seed):
    """What tools/make_tiny_model.py would write, in parts."""
    rng = random.Random(seed)
    tensors = []
    for name, dims, spread in tiny.tensors():
        count = math.prod(dims)
        if name == "output.weight":
            # As there: bytes and control tokens get small logits, so that letters are drawn.
            low = tiny.weights(rng, tiny.NORMAL_FROM * tiny.HIDDEN, spread / 10)
            content = low + tiny.weights(rng, count - tiny.NORMAL_FROM * tiny.HIDDEN, spread)
        else:
            content = tiny.weights(rng, count, spread)
        tensors.append([name, list(dims), F32, content])
    return tiny.metadata(tiny.vocabulary()), tensors


def tiny_gguf(seed=1):
    """A small llama model that works."""
    metadata, tensors = tiny_parts(seed)
    return Gguf(list(metadata), copy.deepcopy(tensors))


def split_gguf(model, count):
    """The parts of a model as a split set; the first part has all the metadata."""
    share = -(-len(model.tensors) // count)
    parts = []
    for i in range(count):
        metadata = list(model.metadata) if i == 0 else []
        metadata += [("split.no", UINT16, i), ("split.count", UINT16, count),
                     ("split.tensors.count", INT32, len(model.tensors))]
        parts.append(Gguf(metadata, model.tensors[i * share:(i + 1) * share]))
    return parts


def part_name(stem, index, count):
    return f"{stem}-{index + 1:05}-of-{count:05}.gguf"


def safetensors(tensors, header=None):
    """The bytes of a file of (name, dtype, shape, bytes); `header` replaces the JSON text."""
    entries, end = {}, 0
    for name, dtype, shape, content in tensors:
        entries[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + len(content)]}
        end += len(content)
    if header is None:
        header = json.dumps(entries).encode()
        header += b" " * (-len(header) % 8)
    return struct.pack("<Q", len(header)) + header + b"".join(t[3] for t in tensors)


HF_HIDDEN, HF_FFN, HF_VOCAB, HF_LAYERS, HF_KV = 16, 32, 300, 2, 8


@functools.lru_cache(maxsize=None)
def tiny_hf_tensors():
    rng = random.Random(7)
    shapes = [("model.embed_tokens.weight", [HF_VOCAB, HF_HIDDEN])]
    for i in range(HF_LAYERS):
        block = f"model.layers.{i}."
        shapes += [(block + "input_layernorm.weight", [HF_HIDDEN]),
                   (block + "self_attn.q_proj.weight", [HF_HIDDEN, HF_HIDDEN]),
                   (block + "self_attn.k_proj.weight", [HF_KV, HF_HIDDEN]),
                   (block + "self_attn.v_proj.weight", [HF_KV, HF_HIDDEN]),
                   (block + "self_attn.o_proj.weight", [HF_HIDDEN, HF_HIDDEN]),
                   (block + "post_attention_layernorm.weight", [HF_HIDDEN]),
                   (block + "mlp.gate_proj.weight", [HF_FFN, HF_HIDDEN]),
                   (block + "mlp.up_proj.weight", [HF_FFN, HF_HIDDEN]),
                   (block + "mlp.down_proj.weight", [HF_HIDDEN, HF_FFN])]
    shapes += [("model.norm.weight", [HF_HIDDEN]), ("lm_head.weight", [HF_VOCAB, HF_HIDDEN])]
    return [(name, "F32", shape,
             tiny.weights(rng, math.prod(shape), 0.0 if len(shape) == 1 else 0.3))
            for name, shape in shapes]


def tiny_hf():
    """(config, tensors) of a small llama model as a Hugging Face folder has them."""
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama",
              "hidden_size": HF_HIDDEN, "intermediate_size": HF_FFN,
              "num_hidden_layers": HF_LAYERS, "num_attention_heads": 4, "num_key_value_heads": 2,
              "vocab_size": HF_VOCAB, "max_position_embeddings": 64, "rms_norm_eps": 1e-5,
              "rope_theta": 10000.0, "hidden_act": "silu", "tie_word_embeddings": False,
              "torch_dtype": "float32", "bos_token_id": 1, "eos_token_id": 2}
    return config, list(tiny_hf_tensors())


def npy(rows, cols, content=None, **changes):
    """A float32 matrix as .npy version 1; `changes` replace what the header says.

    Source: NumPy's format specification (numpy.lib.format).
    """
    said = {"descr": "'<f4'", "fortran_order": "False", "shape": f"({rows}, {cols})"}
    said.update(changes)
    header = "{" + ", ".join(f"'{k}': {v}" for k, v in said.items() if v is not None) + ", }"
    header = header.encode() + b" " * (63 - (10 + len(header)) % 64) + b"\n"
    values = content if content is not None else struct.pack("<f", 0.25) * (rows * cols)
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + values
