#!/usr/bin/env python3
"""Writes a small llama model with random weights and its own tokenizer, as one GGUF file.

usage: make_tiny_model.py OUT.gguf [--seed N]

Equal seeds give equal bytes. The model writes noise; with it, everything from the file to the text
can run without a download. Source of the format: the GGUF specification (ggml, docs/gguf.md).
"""
import argparse
import array
import math
import os
import random
import struct
import sys

HIDDEN = 64
LAYERS = 2
HEADS = 4
KV_HEADS = 2
HEAD_SIZE = HIDDEN // HEADS
FFN = 128
CONTEXT = 256
VOCAB = 320
ALIGNMENT = 32
NORMAL_FROM = 259  # tokens below are <unk>, <s>, </s> and the 256 bytes

# Types of metadata values, and F32 as a tensor's type.
UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
TENSOR_F32 = 0

# Types of tokens.
NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6

SPACE = "\u2581"  # SentencePiece writes a space as a lower one eighth block
LETTERS = "etaoinshrdlcumwfgypbvkjxqz"  # by falling frequency in English
PIECES = (SPACE + "t", "he", SPACE + "a", "in", SPACE + "the", "er", SPACE + "s", "on", "re", "nd",
          SPACE + "w", "an", SPACE + "o", "ou", "at", "it", "en", "ed", "is", "ing", "or", "es",
          SPACE + "and", "ll", SPACE + "h")


def vocabulary():
    """(text, score, type) per token: unknown, begin, end, the 256 bytes, letters, merged pieces."""
    tokens = [("<unk>", 0.0, UNKNOWN), ("<s>", 0.0, CONTROL), ("</s>", 0.0, CONTROL)]
    tokens += [(f"<0x{byte:02X}>", 0.0, BYTE) for byte in range(256)]
    # A pair is merged when its text is a token, the highest score first: pieces before letters.
    ranked = list(PIECES) + [SPACE] + list(LETTERS) + list(".,'!?\"-:;")
    ranked = ranked[:VOCAB - NORMAL_FROM]
    tokens += [(text, -float(rank), NORMAL) for rank, text in enumerate(ranked)]
    assert len(tokens) == VOCAB and len({text for text, _, _ in tokens}) == VOCAB, len(tokens)
    return tokens


def tensors():
    """(name, dimensions, spread of the weights) in file order, the innermost dimension first.

    A spread of 0 means a norm's weights, which lie around 1. The rows of q and k are in the order
    of adjacent-pair rotary embeddings, as GGUF files of this architecture have them; of random rows
    every order is as good.
    """
    kv = KV_HEADS * HEAD_SIZE
    narrow, wide = HIDDEN ** -0.5, FFN ** -0.5
    yield "token_embd.weight", (HIDDEN, VOCAB), 1.0
    for layer in range(LAYERS):
        blk = f"blk.{layer}."
        yield blk + "attn_norm.weight", (HIDDEN,), 0.0
        yield blk + "attn_q.weight", (HIDDEN, HIDDEN), narrow
        yield blk + "attn_k.weight", (HIDDEN, kv), narrow
        yield blk + "attn_v.weight", (HIDDEN, kv), narrow
        yield blk + "attn_output.weight", (HIDDEN, HIDDEN), narrow
        yield blk + "ffn_norm.weight", (HIDDEN,), 0.0
        yield blk + "ffn_gate.weight", (HIDDEN, FFN), narrow
        yield blk + "ffn_up.weight", (HIDDEN, FFN), narrow
        yield blk + "ffn_down.weight", (FFN, HIDDEN), wide
    yield "output_norm.weight", (HIDDEN,), 0.0
    yield "output.weight", (HIDDEN, VOCAB), 3 * narrow


def metadata(tokens):
    """(key, type, value) in file order; an array's type is a pair."""
    texts, scores, types = zip(*tokens)
    return [
        ("general.architecture", STRING, "llama"),
        ("general.name", STRING, "ingot tiny"),
        ("general.alignment", UINT32, ALIGNMENT),
        ("general.file_type", UINT32, 0),
        ("llama.context_length", UINT32, CONTEXT),
        ("llama.embedding_length", UINT32, HIDDEN),
        ("llama.block_count", UINT32, LAYERS),
        ("llama.feed_forward_length", UINT32, FFN),
        ("llama.attention.head_count", UINT32, HEADS),
        ("llama.attention.head_count_kv", UINT32, KV_HEADS),
        ("llama.attention.key_length", UINT32, HEAD_SIZE),
        ("llama.attention.value_length", UINT32, HEAD_SIZE),
        ("llama.attention.layer_norm_rms_epsilon", FLOAT32, 1e-5),
        ("llama.rope.dimension_count", UINT32, HEAD_SIZE),
        ("llama.rope.freq_base", FLOAT32, 10000.0),
        ("llama.vocab_size", UINT32, VOCAB),
        ("tokenizer.ggml.model", STRING, "llama"),
        ("tokenizer.ggml.pre", STRING, "default"),
        ("tokenizer.ggml.tokens", (ARRAY, STRING), texts),
        ("tokenizer.ggml.scores", (ARRAY, FLOAT32), scores),
        ("tokenizer.ggml.token_type", (ARRAY, INT32), types),
        ("tokenizer.ggml.unknown_token_id", UINT32, 0),
        ("tokenizer.ggml.bos_token_id", UINT32, 1),
        ("tokenizer.ggml.eos_token_id", UINT32, 2),
        ("tokenizer.ggml.add_bos_token", BOOL, True),
        ("tokenizer.ggml.add_eos_token", BOOL, False),
    ]


def encode(kind, value):
    """A metadata value's bytes, without its type."""
    if isinstance(kind, tuple):
        element = kind[1]
        return struct.pack("<IQ", element, len(value)) + b"".join(encode(element, v) for v in value)
    if kind == STRING:
        text = value.encode("utf-8")
        return struct.pack("<Q", len(text)) + text
    return struct.pack({UINT32: "<I", INT32: "<i", FLOAT32: "<f", BOOL: "<?"}[kind], value)


def weights(rng, count, spread):
    """`count` little-endian floats, uniform with this standard deviation; norms in [0.9, 1.1]."""
    low, high = (0.9, 1.1) if spread == 0 else (-spread * 3 ** 0.5, spread * 3 ** 0.5)
    values = array.array("f", (low + (high - low) * rng.random() for _ in range(count)))
    if sys.byteorder == "big":
        values.byteswap()
    return values.tobytes()


def model(seed, backbone=False):
    """The bytes of the whole file. A backbone has equal weights, but no embedding and no head."""
    rng = random.Random(seed)
    pairs = metadata(vocabulary())
    shapes = list(tensors())
    ends = {"token_embd.weight", "output.weight"} if backbone else set()
    header = [b"GGUF", struct.pack("<IQQ", 3, len(shapes) - len(ends), len(pairs))]
    for key, kind, value in pairs:
        outer = kind[0] if isinstance(kind, tuple) else kind
        header += [encode(STRING, key), struct.pack("<I", outer), encode(kind, value)]
    data = bytearray()
    for name, dims, spread in shapes:
        if name in ends:
            weights(rng, math.prod(dims), spread)
            continue
        data += bytes(-len(data) % ALIGNMENT)
        header += [encode(STRING, name), struct.pack(f"<I{len(dims)}Q", len(dims), *dims),
                   struct.pack("<IQ", TENSOR_F32, len(data))]
        count = math.prod(dims)
        if name == "output.weight":
            # Bytes and control tokens get small logits, so that the noise is made of letters.
            count = NORMAL_FROM * HIDDEN
            data += weights(rng, count, spread / 10)
            count = math.prod(dims) - count
        data += weights(rng, count, spread)
    head = b"".join(header)
    return head + bytes(-len(head) % ALIGNMENT) + bytes(data) + bytes(-len(data) % ALIGNMENT)


def main():
    parser = argparse.ArgumentParser(description="Writes a small random llama model as GGUF.")
    parser.add_argument("out", metavar="OUT.gguf")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--backbone", action="store_true", help="without embedding and head")
    options = parser.parse_args()
    content = model(options.seed, options.backbone)
    unfinished = f"{options.out}.{os.getpid()}"
    with open(unfinished, "wb") as f:
        f.write(content)
    os.replace(unfinished, options.out)
    print(f"wrote {options.out}: {len(content)} bytes, seed {options.seed}", file=sys.stderr)


if __name__ == "__main__":
    main()
