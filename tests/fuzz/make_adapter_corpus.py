#!/usr/bin/env python3
"""Writes the seeds of fuzz_adapter into a folder: adapters for the small model of the target.

A seed is a GGUF file, or adapter_config.json, a NUL, and adapter_model.safetensors.
"""
import json
import os
import struct
import sys

H, F, V, R = 8, 16, 16, 2  # hidden size, width of the feed-forward layer, vocabulary, rank
PREFIX = "base_model.model."


def pair(module, inputs, outputs, rank=R):
    return {f"{PREFIX}{module}.lora_A.weight": [rank, inputs],
            f"{PREFIX}{module}.lora_B.weight": [outputs, rank]}


def safetensors(shapes):
    header, data = {}, b""
    for name, shape in shapes.items():
        values = [(i % 7 - 3) / 4 for i in range(shape[0] * shape[1])]
        raw = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": shape,
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def peft(shapes, **config):
    values = {"peft_type": "LORA", "r": R, "lora_alpha": 4, **config}
    return json.dumps(values).encode() + b"\0" + safetensors(shapes)


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


def gguf(tensors):
    keys = [("general.type", 8, text("adapter")), ("general.architecture", 8, text("llama")),
            ("adapter.type", 8, text("lora")),
            ("adapter.lora.alpha", 6, struct.pack("<f", 4)),
            ("adapter.alora.invocation_tokens", 9, struct.pack("<IQII", 4, 2, 1, 2))]
    out = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys))
    for name, kind, value in keys:
        out += text(name) + struct.pack("<I", kind) + value
    offset = 0
    for name, sizes in tensors.items():
        out += text(name) + struct.pack("<IQQIQ", 2, *sizes, 0, offset)
        offset += -(-sizes[0] * sizes[1] * 4 // 32) * 32
    return out + b"\0" * (-len(out) % 32 + offset)


def main(folder):
    layer = "model.layers.0."
    attention = layer + "self_attn."
    mlp = layer + "mlp."
    experts = mlp + "experts"
    embedding = f"{PREFIX}model.embed_tokens."
    seeds = {
        "attention": peft({**pair(attention + "q_proj", H, H), **pair(attention + "k_proj", H, 4)},
                          target_modules=["q_proj", "k_proj"], alora_invocation_tokens=[1, 2]),
        "patterns": peft({**pair(mlp + "up_proj", H, F, 1), **pair("lm_head", H, V)},
                         target_modules=".*(up_proj|lm_head)", use_rslora=True,
                         rank_pattern={"up_proj": 1}, alpha_pattern={"layers\\.0\\..*": 2}),
        "layers": peft(pair(mlp + "down_proj", F, H), target_modules=["down_proj"],
                       layers_to_transform=[0], layers_pattern="layers", exclude_modules=["x"]),
        "embedding": peft({embedding + "lora_embedding_A": [R, V],
                           embedding + "lora_embedding_B": [H, R],
                           embedding + "base_layer.weight": [V, H]},
                          target_modules=["embed_tokens"]),
        "parameters": peft({**pair(experts + ".base_layer", H, F, 4), **pair(experts, F, H, 4)},
                           target_parameters=["gate_up_proj", "experts.down_proj"],
                           peft_version="0.19.0"),
        "gguf": gguf({"blk.0.attn_q.weight.lora_a": [H, R], "blk.0.attn_q.weight.lora_b": [R, H],
                      "token_embd.weight.lora_a": [R, V], "token_embd.weight.lora_b": [R, H]}),
    }
    os.makedirs(folder, exist_ok=True)
    for name, content in seeds.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content)


if __name__ == "__main__":
    main(sys.argv[1])
