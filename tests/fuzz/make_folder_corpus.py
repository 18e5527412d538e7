#!/usr/bin/env python3
"""Writes the seeds of fuzz_folder into a folder, one for each layout of tensors in real folders.

A seed is config.json, a NUL, and model.safetensors. Sizes are the smallest; all weights are zeros.
"""
import json
import math
import os
import struct
import sys

H, F, V, T = 4, 6, 5, 8  # hidden size, width of feed-forward layers, vocabulary, context
HEADS, KV, D = 2, 1, 2   # query heads, key heads, their size
BYTES = {"F32": 4, "BF16": 2, "U8": 1}
BASE = {"num_hidden_layers": 1, "hidden_size": H, "num_attention_heads": HEADS,
        "num_key_value_heads": KV, "head_dim": D, "intermediate_size": F, "vocab_size": V,
        "max_position_embeddings": T}


def decoder(h=H, first="input_layernorm"):
    """A decoder's tensors without its projections and its feed-forward layer."""
    return {"model.embed_tokens.weight": [V, h], "lm_head.weight": [V, h], "model.norm.weight": [h],
            f"model.layers.0.{first}.weight": [h],
            "model.layers.0.post_attention_layernorm.weight": [h]}


def attention(h=H, biases=(), place="model.layers.0.self_attn."):
    rows = {"q_proj": [HEADS * D, h], "k_proj": [KV * D, h], "v_proj": [KV * D, h],
            "o_proj": [h, HEADS * D]}
    out = {f"{place}{name}.weight": shape for name, shape in rows.items()}
    out.update({f"{place}{name}.bias": rows[name][:1] for name in biases})
    return out


def mlp(place="model.layers.0.mlp.", f=F, h=H):
    return {f"{place}gate_proj.weight": [f, h], f"{place}up_proj.weight": [f, h],
            f"{place}down_proj.weight": [h, f]}


def experts(count, place="model.layers.0.mlp."):
    out = {f"{place}gate.weight": [count, H]}
    for e in range(count):
        out.update(mlp(f"{place}experts.{e}."))
    return out


def gpt_oss(h, stored):
    """GPT-OSS with the experts in bfloat16, inputs as rows, or in MXFP4."""
    config = {**BASE, "model_type": "gpt_oss", "hidden_size": h, "intermediate_size": h,
              "num_local_experts": 2, "num_experts_per_tok": 1, "rope_parameters": {
                  "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4,
                  "rope_theta": 150000.0, "truncate": False}, "sliding_window": 4}
    tensors = {**decoder(h), **attention(h, ("q_proj", "k_proj", "v_proj", "o_proj")),
               "model.layers.0.self_attn.sinks": [HEADS],
               "model.layers.0.mlp.router.weight": [2, h], "model.layers.0.mlp.router.bias": [2]}
    place = "model.layers.0.mlp.experts."
    tensors.update({f"{place}gate_up_proj_bias": [2, 2 * h], f"{place}down_proj_bias": [2, h]})
    if stored == "BF16":
        tensors.update({f"{place}gate_up_proj": [2, h, 2 * h], f"{place}down_proj": [2, h, h]})
        return config, tensors
    config["quantization_config"] = {"quant_method": "mxfp4"}
    for name, rows in (("gate_up_proj", 2 * h), ("down_proj", h)):
        tensors[f"{place}{name}_blocks"] = ("U8", [2, rows, h // 32, 16])
        tensors[f"{place}{name}_scales"] = ("U8", [2, rows, h // 32])
    return config, tensors


def deepseek():
    config = {**BASE, "model_type": "deepseek_v3", "q_lora_rank": 3, "kv_lora_rank": 4,
              "qk_nope_head_dim": 2, "qk_rope_head_dim": 2, "v_head_dim": 3, "num_hidden_layers": 1,
              "n_routed_experts": 4, "num_experts_per_tok": 1, "moe_intermediate_size": F,
              "n_group": 2, "topk_group": 1, "first_k_dense_replace": 0, "n_shared_experts": 1,
              "num_nextn_predict_layers": 0}
    a = "model.layers.0.self_attn."
    tensors = {**decoder(), **experts(4), **mlp("model.layers.0.mlp.shared_experts."),
               "model.layers.0.mlp.gate.e_score_correction_bias": [4],
               a + "q_a_proj.weight": [3, H], a + "q_a_layernorm.weight": [3],
               a + "q_b_proj.weight": [HEADS * 4, 3], a + "kv_a_proj_with_mqa.weight": [6, H],
               a + "kv_a_layernorm.weight": [4], a + "kv_b_proj.weight": [HEADS * 5, 4],
               a + "o_proj.weight": [H, HEADS * 3]}
    return config, tensors


def gemma4():
    config = {**BASE, "model_type": "gemma4_text", "hidden_activation": "gelu_pytorch_tanh",
              "num_hidden_layers": 2, "layer_types": ["sliding_attention", "full_attention"],
              "sliding_window": 4, "hidden_size_per_layer_input": 2, "num_kv_shared_layers": 0,
              "vocab_size_per_layer_input": V, "per_layer_config": {"1": {"head_dim": 4}},
              "rope_parameters": {
                  "full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.5,
                                     "rope_theta": 1e6},
                  "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}}
    tensors = {"model.embed_tokens.weight": [V, H], "model.norm.weight": [H],
               "model.embed_tokens_per_layer.weight": [V, 4],
               "model.per_layer_model_projection.weight": [4, H],
               "model.per_layer_projection_norm.weight": [2]}
    for i, d in ((0, 2), (1, 4)):
        place = f"model.layers.{i}."
        for norm in ("input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm",
                     "post_feedforward_layernorm", "post_per_layer_input_norm"):
            tensors[f"{place}{norm}.weight"] = [H]
        for name, shape in (("q_proj", [HEADS * d, H]), ("k_proj", [d, H]), ("v_proj", [d, H]),
                            ("o_proj", [H, HEADS * d]), ("q_norm", [d]), ("k_norm", [d])):
            tensors[f"{place}self_attn.{name}.weight"] = shape
        tensors.update(mlp(place + "mlp."))
        tensors[place + "layer_scalar"] = [1]
        tensors[place + "per_layer_input_gate.weight"] = [2, H]
        tensors[place + "per_layer_projection.weight"] = [H, 2]
    return config, tensors


def bert(relative=False):
    config = {**BASE, "model_type": "mpnet" if relative else "bert", "hidden_act": "gelu"}
    names = {"q": "query", "k": "key", "v": "value", "o": "output.dense"}
    place = "encoder.layer.0."
    tensors = {"embeddings.word_embeddings.weight": [V, H],
               "embeddings.position_embeddings.weight": [T, H]}
    if relative:
        tensors["encoder.relative_attention_bias.weight"] = [32, HEADS]
    else:
        config["type_vocab_size"] = 2
        tensors["embeddings.token_type_embeddings.weight"] = [2, H]
    config["num_key_value_heads"] = HEADS
    norm = place + ("attention.LayerNorm" if relative else "attention.output.LayerNorm")
    for name in ("embeddings.LayerNorm", norm, place + "output.LayerNorm"):
        tensors.update({name + ".weight": [H], name + ".bias": [H]})
    for short, long in names.items():
        name = f"attention.attn.{short}" if relative else (
            f"attention.{long}" if short == "o" else f"attention.self.{long}")
        tensors.update({f"{place}{name}.weight": [H, H], f"{place}{name}.bias": [H]})
    for name, rows, cols in (("intermediate.dense", F, H), ("output.dense", H, F)):
        tensors.update({f"{place}{name}.weight": [rows, cols], f"{place}{name}.bias": [rows]})
    return config, tensors


def modernbert():
    config = {**BASE, "model_type": "modernbert", "num_hidden_layers": 2, "local_attention": 4,
              "num_key_value_heads": HEADS, "global_attn_every_n_layers": 2}
    tensors = {"embeddings.tok_embeddings.weight": [V, H], "embeddings.norm.weight": [H],
               "final_norm.weight": [H], "layers.1.attn_norm.weight": [H]}
    for i in range(2):
        tensors.update({f"layers.{i}.attn.Wqkv.weight": [3 * H, H],
                        f"layers.{i}.attn.Wo.weight": [H, H], f"layers.{i}.mlp_norm.weight": [H],
                        f"layers.{i}.mlp.Wi.weight": [2 * F, H],
                        f"layers.{i}.mlp.Wo.weight": [H, F]})
    return config, tensors


def granite():
    config = {**BASE, "model_type": "granitemoeshared", "num_local_experts": 2,
              "num_experts_per_tok": 1, "shared_intermediate_size": F, "embedding_multiplier": 6.0,
              "logits_scaling": 2.5, "residual_multiplier": 0.5, "attention_multiplier": 0.1}
    place = "model.layers.0."
    return config, {**decoder(), **attention(),
                    place + "block_sparse_moe.router.layer.weight": [2, H],
                    place + "block_sparse_moe.input_linear.weight": [2, 2 * F, H],
                    place + "block_sparse_moe.output_linear.weight": [2, H, F],
                    place + "shared_mlp.input_linear.weight": [2 * F, H],
                    place + "shared_mlp.output_linear.weight": [H, F]}


def qwen2_moe():
    config = {**BASE, "model_type": "qwen2_moe", "num_experts": 2, "num_experts_per_tok": 1,
              "moe_intermediate_size": F, "shared_expert_intermediate_size": F}
    return config, {**decoder(), **attention(biases=("q_proj", "k_proj", "v_proj")), **experts(2),
                    **mlp("model.layers.0.mlp.shared_expert."),
                    "model.layers.0.mlp.shared_expert_gate.weight": [1, H]}


def phi3():
    config = {**BASE, "model_type": "phi3", "original_max_position_embeddings": 4,
              "rope_scaling": {"type": "longrope", "short_factor": [1.0], "long_factor": [2.0]}}
    place = "model.layers.0."
    return config, {**decoder(), place + "self_attn.qkv_proj.weight": [(HEADS + 2 * KV) * D, H],
                    place + "self_attn.o_proj.weight": [H, HEADS * D],
                    place + "mlp.gate_up_proj.weight": [2 * F, H],
                    place + "mlp.down_proj.weight": [H, F]}


def cohere():
    config = {**BASE, "model_type": "cohere", "use_qk_norm": True, "logit_scale": 0.5}
    tensors = {**decoder(), **attention(), **mlp(),
               "model.layers.0.self_attn.q_norm.weight": [HEADS, D],
               "model.layers.0.self_attn.k_norm.weight": [KV, D]}
    for name in ("lm_head.weight", "model.layers.0.post_attention_layernorm.weight"):
        del tensors[name]
    return config, tensors


SEEDS = {"llama": lambda: ({**BASE, "model_type": "llama"}, {**decoder(), **attention(), **mlp()}),
         "gpt_oss_bf16": lambda: gpt_oss(4, "BF16"), "gpt_oss_mxfp4": lambda: gpt_oss(32, "U8"),
         "deepseek_v3": deepseek, "gemma4": gemma4, "bert": bert, "mpnet": lambda: bert(True),
         "modernbert": modernbert, "granite_moe": granite, "qwen2_moe": qwen2_moe, "phi3": phi3,
         "cohere": cohere}


def safetensors(tensors):
    header, data = {}, b""
    for name, shape in tensors.items():
        kind, shape = shape if isinstance(shape, tuple) else ("BF16", shape)
        size = math.prod(shape) * BYTES[kind]
        header[name] = {"dtype": kind, "shape": shape,
                        "data_offsets": [len(data), len(data) + size]}
        data += bytes(size)
    text = json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(text)) + text + data


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: make_folder_corpus.py FOLDER")
    os.makedirs(sys.argv[1], exist_ok=True)
    for name, make in SEEDS.items():
        config, tensors = make()
        with open(os.path.join(sys.argv[1], name), "wb") as out:
            out.write(json.dumps(config).encode() + b"\0" + safetensors(tensors))


if __name__ == "__main__":
    main()
