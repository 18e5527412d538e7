#!/usr/bin/env python3
"""Copies a GGUF file without tokenizer and adds one, which some engines and constraints require.

usage: vocabulary.py MODEL.gguf TARGET.gguf [FOLDER]

Without FOLDER, the tokens are the 256 bytes as byte-level tokenizers spell them, then meaningless
names. FOLDER has the vocab.json and merges.txt of Qwen2's tokenizer.
"""

import json
import pathlib
import struct
import sys

TEXT, ARRAY, UINT32, INT32 = 8, 9, 4, 5
BYTES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}  # by type


class Head:
    """The part before the weights of a GGUF file (version 2 or 3)."""

    def __init__(self, data):
        self.data = data
        magic, self.version, self.tensors, entries = struct.unpack_from("<4sIQQ", data)
        if magic != b"GGUF":
            raise ValueError("it is no GGUF file")
        at = struct.calcsize("<4sIQQ")
        self.entries = {}  # key -> (its bytes, where its value begins)
        for _ in range(entries):
            start = at
            key, at = self.text(at)
            (kind,) = struct.unpack_from("<I", data, at)
            value = at + 4
            at = self.end_of(kind, value)
            self.entries[key.decode()] = (data[start:at], value)
        start = at
        for _ in range(self.tensors):
            _, at = self.text(at)
            (dims,) = struct.unpack_from("<I", data, at)
            at += 4 + 8 * dims + 4 + 8
        if at > len(data):
            raise ValueError("its head is cut off")
        self.infos = data[start:at]
        self.alignment = self.number("general.alignment") or 32
        self.weights_at = at + -at % self.alignment

    def text(self, at):
        (count,) = struct.unpack_from("<Q", self.data, at)
        return self.data[at + 8 : at + 8 + count], at + 8 + count

    def end_of(self, kind, at):
        if kind == TEXT:
            return self.text(at)[1]
        if kind != ARRAY:
            return at + BYTES[kind]
        of, count = struct.unpack_from("<IQ", self.data, at)
        at += 12
        for _ in range(count):
            at = self.end_of(of, at)
        return at

    def model(self):
        entry = self.entries.get("tokenizer.ggml.model")
        return self.text(entry[1])[0].decode() if entry else "no_vocab"

    def number(self, key):
        """The unsigned number of a key; None where there is no such key."""
        if key not in self.entries:
            return None
        return struct.unpack_from("<I", self.data, self.entries[key][1])[0]

    def vocabulary_size(self):
        at = self.entries["general.architecture"][1]
        size = self.number(f"{self.text(at)[0].decode()}.vocab_size")
        if size is None:
            raise ValueError("it does not say how large its vocabulary is")
        return size


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def entry(key, kind, value):
    return text(key) + struct.pack("<I", kind) + value


def array(of, values):
    return struct.pack("<IQ", of, len(values)) + b"".join(values)


def byte_tokens():
    """The bytes as byte-level BPE writes them: printable ones as they are, others from 256 on."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = (chr(256 + i) for i in range(256 - len(plain)))
    return [chr(b) if b in plain else next(others) for b in range(256)]


def tokenizer(size, folder=None):
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    names, merges = byte_tokens(), ["x 0"]
    if folder:
        numbers = json.loads((pathlib.Path(folder) / "vocab.json").read_text())
        names = sorted(numbers, key=numbers.get)
        lines = (pathlib.Path(folder) / "merges.txt").read_text().split("\n")
        merges = [line for line in lines if line and not line.startswith("#version")]
    if len(names) + len(special) > size:
        raise ValueError(f"its vocabulary has {size} tokens, the tokenizer more")
    names += [f"x{i}" for i in range(size - len(names) - len(special))]
    tokens = [*names, *special]
    kinds = [1] * (size - len(special)) + [3] * len(special)  # normal, then special
    types = array(INT32, [struct.pack("<i", kind) for kind in kinds])
    return [
        entry("tokenizer.ggml.model", TEXT, text("gpt2")),
        entry("tokenizer.ggml.pre", TEXT, text("qwen2")),
        entry("tokenizer.ggml.tokens", ARRAY, array(TEXT, [text(token) for token in tokens])),
        entry("tokenizer.ggml.token_type", ARRAY, types),
        entry("tokenizer.ggml.merges", ARRAY, array(TEXT, [text(merge) for merge in merges])),
        entry("tokenizer.ggml.bos_token_id", UINT32, struct.pack("<I", size - 3)),
        entry("tokenizer.ggml.eos_token_id", UINT32, struct.pack("<I", size - 1)),
        entry("tokenizer.ggml.padding_token_id", UINT32, struct.pack("<I", size - 3)),
        entry("tokenizer.chat_template", TEXT, text("{{ messages }}")),
    ]


def has_tokenizer(path):
    with open(path, "rb") as file:
        try:
            return Head(file.read(1 << 20)).model() != "no_vocab"
        except struct.error:
            return True  # the head is longer: with tokens


def add_tokenizer(source, target, folder=None):
    """Writes `source`, which has no tokenizer, to `target` with one."""
    with open(source, "rb") as file, open(target, "wb") as out:
        head = Head(file.read(1 << 20))
        kept = [data for key, (data, _) in head.entries.items() if not key.startswith("tokenizer.")]
        entries = kept + tokenizer(head.vocabulary_size(), folder)
        start = struct.pack("<4sIQQ", b"GGUF", head.version, head.tensors, len(entries))
        start += b"".join(entries) + head.infos
        out.write(start + bytes(-len(start) % head.alignment))
        file.seek(head.weights_at)
        while piece := file.read(1 << 24):
            out.write(piece)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__.split("\n\n")[1])
    add_tokenizer(*sys.argv[1:])
