// Writes the seeds of fuzz_gguf into a folder: small valid files and one of each kind of damage.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/text.h"
#include "load/gguf/gguf_writer_test_util.h"

namespace {

using namespace ingot;
using namespace ingot::testing_gguf;

/// The tiny model with fewer bytes: seeds are mutated faster when they are short.
GgufWriter smallest() {
  GgufWriter w = tiny_model();
  w.tensors.clear();
  w.tensor("token_embd.weight", {8, 4}).tensor("output_norm.weight", {8});
  return w;
}

/// Another architecture's name in place of llama.
GgufWriter renamed(GgufWriter w, const std::string& architecture) {
  for (auto& [key, value] : w.entries) {
    if (key.starts_with("llama.")) key = architecture + key.substr(5);
  }
  return w.set("general.architecture", text(architecture));
}

GgufWriter smallest_of(const std::string& architecture) {
  return renamed(smallest(), architecture);
}

GgufWriter mixture() {
  GgufWriter w = smallest_of("qwen3moe");
  w.set("qwen3moe.expert_count", u32(4));
  w.set("qwen3moe.expert_used_count", u32(2));
  w.set("qwen3moe.expert_feed_forward_length", u32(8));
  w.set("qwen3moe.attention.head_count_kv", ints({1}));
  return w.set("qwen3moe.expert_weights_norm", boolean(0));
}

GgufWriter yarn() {
  GgufWriter w = smallest();
  w.set("llama.rope.scaling.type", text("yarn")).set("llama.rope.scaling.factor", f32(4));
  w.set("llama.rope.scaling.original_context_length", u32(16));
  return w.set("llama.rope.scaling.attn_factor", f32(0.5f));
}

/// Windows, two rotary embeddings, a cap.
GgufWriter windows() {
  GgufWriter w = smallest_of("gemma3").set("gemma3.block_count", u32(3));
  w.set("gemma3.attention.sliding_window", u32(4));
  w.set("gemma3.attention.sliding_window_pattern", bools({1, 1, 0}));
  w.set("gemma3.rope.freq_base_swa", f32(5000)).set("gemma3.rope.scaling.type", text("linear"));
  w.set("gemma3.rope.scaling.factor", f32(8));
  return w.set("gemma3.final_logit_softcapping", f32(30));
}

/// Sizes that differ by layer, layers that share keys and values, inputs of layers.
GgufWriter layers() {
  GgufWriter w = smallest_of("gemma4").set("gemma4.block_count", u32(4));
  w.set("gemma4.attention.sliding_window", u32(4));
  w.set("gemma4.attention.sliding_window_pattern", u32(2));
  w.set("gemma4.attention.head_count_kv", ints({1, 2, 1, 2}));
  w.set("gemma4.feed_forward_length", uints({8, 8, 16, 16}));
  for (const char* part : {"key", "value"}) {
    w.set(cat("gemma4.attention.", part, "_length"), u32(8));
    w.set(cat("gemma4.attention.", part, "_length_swa"), u32(4));
  }
  w.set("gemma4.rope.dimension_count_swa", u32(2)).set("gemma4.attention.shared_kv_layers", u32(2));
  return w.set("gemma4.embedding_length_per_layer_input", u32(2));
}

/// Latent attention, YaRN, router rules, dense and shared layers, multi-token prediction.
GgufWriter latent() {
  GgufWriter w = smallest_of("deepseek2").set("deepseek2.block_count", u32(3));
  w.set("deepseek2.attention.q_lora_rank", u32(6)).set("deepseek2.attention.kv_lora_rank", u32(8));
  w.set("deepseek2.attention.key_length", u32(12)).set("deepseek2.attention.value_length", u32(8));
  w.set("deepseek2.attention.key_length_mla", u32(6));
  w.set("deepseek2.attention.value_length_mla", u32(3));
  w.set("deepseek2.rope.scaling.type", text("yarn")).set("deepseek2.rope.scaling.factor", f32(4));
  w.set("deepseek2.rope.scaling.yarn_log_multiplier", f32(0.1f));
  w.set("deepseek2.expert_count", u32(8)).set("deepseek2.expert_used_count", u32(2));
  w.set("deepseek2.expert_feed_forward_length", u32(8));
  w.set("deepseek2.expert_shared_count", u32(1)).set("deepseek2.expert_gating_func", u32(2));
  w.set("deepseek2.expert_weights_scale", f32(2.5f)).set("deepseek2.expert_group_count", u32(4));
  w.set("deepseek2.expert_group_used_count", u32(2));
  w.set("deepseek2.leading_dense_block_count", u32(1));
  return w.set("deepseek2.nextn_predict_layers", u32(1));
}

GgufWriter multipliers() {
  GgufWriter w = smallest_of("granite").set("granite.attention.scale", f32(0.1f));
  w.set("granite.embedding_scale", f32(6)).set("granite.residual_scale", f32(0.5f));
  return w.set("granite.logit_scale", f32(2.5f)).set("granite.rope.scaling.finetuned", boolean(0));
}

GgufWriter cross_encoder() {
  GgufWriter w = smallest_of("bert").remove("bert.attention.layer_norm_rms_epsilon");
  w.set("bert.attention.layer_norm_epsilon", f32(1e-5f)).set("bert.attention.causal", boolean(0));
  w.set("bert.pooling_type", u32(4)).set("bert.classifier.output_labels", strings({"no", "yes"}));
  return w.tensor("cls.weight", {8, 8}).tensor("cls.output.weight", {8, 2});
}

GgufWriter dense_modules() {
  GgufWriter w = smallest_of("gemma-embedding").set("gemma-embedding.pooling_type", u32(1));
  w.set("gemma-embedding.attention.sliding_window", u32(4));
  w.set("gemma-embedding.dense_2_feat_in", u32(8)).set("gemma-embedding.dense_2_feat_out", u32(4));
  return w.tensor("dense_2.weight", {8, 4});
}

GgufWriter every_type() {
  GgufWriter w = smallest();
  int i = 0;
  for (const Value& value : one_of_each_type()) w.set(cat("x.", ++i), value);
  return w;
}

GgufWriter blocks() {
  GgufWriter w = smallest().set("general.alignment", u32(8));
  w.alignment = 8;
  w.tensors.push_back({"a", {256, 2}, 12, 288, {}, {}});     // Q4_K
  w.tensors.push_back({"b", {32, 1, 3}, 8, 102, {}, {}});    // Q8_0
  w.tensors.push_back({"c", {1, 2, 3, 4}, 30, 48, {}, {}});  // BF16
  return w;
}

/// Without the tensors of its feed-forward layers.
GgufWriter without_ffn(GgufWriter w) {
  std::erase_if(w.tensors, [](const Tensor& t) {
    return t.name.find("ffn_") != std::string::npos && t.name.find("norm") == std::string::npos;
  });
  return w;
}

/// A complete mixture of two experts, every tensor bound.
GgufWriter bound_mixture() {
  GgufWriter w = without_ffn(renamed(tiny_model(), "qwen3moe"));
  w.set("qwen3moe.expert_count", u32(2));
  w.set("qwen3moe.expert_used_count", u32(1));
  w.set("qwen3moe.expert_feed_forward_length", u32(4));
  w.tensor("blk.0.attn_q_norm.weight", {4}).tensor("blk.0.attn_k_norm.weight", {4});
  w.tensor("blk.0.ffn_gate_inp.weight", {8, 2}).tensor("blk.0.ffn_gate_exps.weight", {8, 4, 2});
  return w.tensor("blk.0.ffn_up_exps.weight", {8, 4, 2})
      .tensor("blk.0.ffn_down_exps.weight", {4, 8, 2});
}

/// A head of its own, biases, frequency factors.
std::string bound_extras() {
  GgufWriter w = tiny_model();
  w.tensor("output.weight", {8, 16}).tensor("blk.0.attn_q.bias", {8});
  w.tensor("blk.0.attn_k.bias", {4}).tensor("blk.0.attn_v.bias", {4});
  w.tensor("rope_freqs.weight", {2});
  // The last tensor, padded to the alignment, gets factors that can be divided by.
  std::string bytes = w.build();
  return bytes.replace(bytes.size() - w.alignment, 8, raw(1.0f) + raw(2.0f));
}

/// GPT-OSS: sinks, biases of all matrices, experts with MXFP4 in one of them.
GgufWriter bound_sinks() {
  GgufWriter w = without_ffn(renamed(tiny_model(), "gpt-oss"));
  w.set("gpt-oss.attention.sliding_window", u32(4)).set("gpt-oss.expert_count", u32(2));
  w.set("gpt-oss.expert_used_count", u32(1)).set("gpt-oss.expert_feed_forward_length", u32(32));
  w.tensor("output.weight", {8, 16}).tensor("blk.0.attn_sinks.weight", {2});
  for (const auto& [name, rows] : {std::pair{"q", 8}, {"k", 4}, {"v", 4}, {"output", 8}}) {
    w.tensor(cat("blk.0.attn_", name, ".bias"), {static_cast<std::uint64_t>(rows)});
  }
  w.tensor("blk.0.ffn_gate_inp.weight", {8, 2}).tensor("blk.0.ffn_gate_inp.bias", {2});
  for (const char* name : {"gate", "up"}) {
    w.tensor(cat("blk.0.ffn_", name, "_exps.weight"), {8, 32, 2});
    w.tensor(cat("blk.0.ffn_", name, "_exps.bias"), {32, 2});
  }
  w.tensors.push_back({"blk.0.ffn_down_exps.weight", {32, 8, 2}, 39, 272, {}, {}});  // MXFP4
  return w.tensor("blk.0.ffn_down_exps.bias", {8, 2});
}

/// DeepSeek: latents, a selection bias, shared experts.
GgufWriter bound_latent() {
  GgufWriter w = without_ffn(renamed(tiny_model(), "deepseek2"));
  std::erase_if(w.tensors,
                [](const Tensor& t) { return t.name.find("attn_") != std::string::npos; });
  w.set("deepseek2.attention.q_lora_rank", u32(6)).set("deepseek2.attention.kv_lora_rank", u32(8));
  w.set("deepseek2.attention.key_length", u32(12)).set("deepseek2.attention.value_length", u32(8));
  w.set("deepseek2.attention.key_length_mla", u32(6));
  w.set("deepseek2.attention.value_length_mla", u32(3));
  w.set("deepseek2.expert_count", u32(2)).set("deepseek2.expert_used_count", u32(1));
  w.set("deepseek2.expert_feed_forward_length", u32(4))
      .set("deepseek2.expert_shared_count", u32(1));
  w.set("deepseek2.expert_gating_func", u32(2));
  w.tensor("output.weight", {8, 16}).tensor("blk.0.attn_norm.weight", {8});
  w.tensor("blk.0.attn_q_a.weight", {8, 6}).tensor("blk.0.attn_q_a_norm.weight", {6});
  w.tensor("blk.0.attn_q_b.weight", {6, 12}).tensor("blk.0.attn_kv_a_mqa.weight", {8, 12});
  w.tensor("blk.0.attn_kv_a_norm.weight", {8}).tensor("blk.0.attn_k_b.weight", {2, 8, 2});
  w.tensor("blk.0.attn_v_b.weight", {8, 3, 2}).tensor("blk.0.attn_output.weight", {6, 8});
  w.tensor("blk.0.ffn_gate_inp.weight", {8, 2}).tensor("blk.0.exp_probs_b.bias", {2});
  for (const char* name : {"gate", "up"}) {
    w.tensor(cat("blk.0.ffn_", name, "_exps.weight"), {8, 4, 2});
    w.tensor(cat("blk.0.ffn_", name, "_shexp.weight"), {8, 4});
  }
  return w.tensor("blk.0.ffn_down_exps.weight", {4, 8, 2})
      .tensor("blk.0.ffn_down_shexp.weight", {4, 8});
}

/// BERT: tables of positions and token types, norms behind the sublayers.
GgufWriter bound_encoder() {
  GgufWriter w = renamed(tiny_model(), "bert").remove("bert.attention.layer_norm_rms_epsilon");
  w.set("bert.attention.layer_norm_epsilon", f32(1e-5f)).set("bert.context_length", u32(4));
  w.set("bert.attention.head_count_kv", u32(2)).set("bert.pooling_type", u32(1));
  w.set("tokenizer.ggml.token_type_count", u32(2));
  w.tensors.clear();
  w.tensor("token_embd.weight", {8, 16}).tensor("position_embd.weight", {8, 4});
  w.tensor("token_types.weight", {8, 2});
  for (const char* norm :
       {"token_embd_norm", "blk.0.attn_output_norm", "blk.0.layer_output_norm"}) {
    w.tensor(cat(norm, ".weight"), {8}).tensor(cat(norm, ".bias"), {8});
  }
  for (const char* name : {"attn_q", "attn_k", "attn_v", "attn_output"}) {
    w.tensor(cat("blk.0.", name, ".weight"), {8, 8}).tensor(cat("blk.0.", name, ".bias"), {8});
  }
  w.tensor("blk.0.ffn_up.weight", {8, 16}).tensor("blk.0.ffn_up.bias", {16});
  return w.tensor("blk.0.ffn_down.weight", {16, 8}).tensor("blk.0.ffn_down.bias", {8});
}

/// Phi-3: matrices in one tensor, factors of rotary frequencies as tensors.
std::string bound_longrope() {
  GgufWriter w = without_ffn(renamed(tiny_model(), "phi3"));
  w.set("phi3.rope.scaling.original_context_length", u32(16));
  std::erase_if(w.tensors, [](const Tensor& t) {
    return t.name.find("attn_q") != std::string::npos ||
           t.name.find("attn_k") != std::string::npos || t.name.find("attn_v") != std::string::npos;
  });
  w.tensor("output.weight", {8, 16}).tensor("blk.0.attn_qkv.weight", {8, 16});
  w.tensor("blk.0.ffn_up.weight", {8, 32}).tensor("blk.0.ffn_down.weight", {16, 8});
  w.tensor("rope_factors_long.weight", {2}).tensor("rope_factors_short.weight", {2});
  std::string bytes = w.build();
  for (const std::size_t back : {2 * w.alignment, w.alignment}) {
    bytes.replace(bytes.size() - back, 8, raw(1.0f) + raw(2.0f));
  }
  return bytes;
}

/// Only the metadata, of a byte-level tokenizer.
GgufWriter byte_level(std::string_view pre) {
  GgufWriter w = smallest();
  w.tensors.clear();
  w.remove("tokenizer.ggml.scores").set("tokenizer.ggml.model", text("gpt2"));
  w.set("tokenizer.ggml.pre", text(pre));
  w.set("tokenizer.ggml.tokens",
        strings({"<s>", "</s>", "<|im_end|>", "<think>", "  ", "a", "b", "ab", "abab", "\xc4\xa0",
                 "\xc4\xa0"
                 "a",
                 "\xc3\x83", "\xc2\xa9", "\xc3\x83\xc2\xa9", "1", "\xc4\x8a"}));
  w.set("tokenizer.ggml.token_type", ints({3, 3, 3, 4, 4, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}));
  return w.set("tokenizer.ggml.merges",
               strings({"a b", "\xc4\xa0 a", "\xc3\x83 \xc2\xa9", "ab ab"}));
}

/// Only the metadata, of a SentencePiece tokenizer with byte tokens and user-defined pieces.
GgufWriter byte_tokens() {
  GgufWriter w = smallest();
  w.tensors.clear();
  std::vector<std::string> tokens = {"<unk>", "<s>", "</s>"};
  std::vector<std::int32_t> types = {2, 3, 3};
  for (std::size_t b = 0; b < 256; ++b) {
    constexpr std::string_view kHex = "0123456789ABCDEF";
    tokens.push_back(cat("<0x", kHex.substr(b / 16, 1), kHex.substr(b % 16, 1), ">"));
    types.push_back(6);
  }
  for (const char* piece : {"\xe2\x96\x81", "a", "\xe2\x96\x81\x61", "aa", "aab", "aa[", "[x]"}) {
    tokens.emplace_back(piece);
    types.push_back(tokens.size() > 263 ? 4 : 1);
  }
  std::vector<float> scores;
  for (std::size_t i = 0; i < tokens.size(); ++i) scores.push_back(-static_cast<float>(i % 7));
  w.remove("llama.vocab_size").set("tokenizer.ggml.tokens", strings(tokens));
  w.set("tokenizer.ggml.token_type", ints(types)).set("tokenizer.ggml.scores", floats(scores));
  return w.set("tokenizer.ggml.remove_extra_whitespaces", boolean(1));
}

std::string cut(const std::string& bytes, std::size_t n) { return bytes.substr(0, n); }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_gguf_corpus FOLDER\n");
    return 64;
  }
  const std::filesystem::path folder = argv[1];
  std::filesystem::create_directories(folder);
  const auto write = [&](const std::string& name, const std::string& bytes) {
    std::ofstream(folder / name, std::ios::binary) << bytes;
  };
  const auto changed = [](std::string_view key, Value value) {
    return smallest().set(key, std::move(value)).build();
  };
  const std::string valid = smallest().build();
  write("valid_tiny", tiny_model().build());
  write("valid_smallest", valid);
  write("valid_mixture", mixture().build());
  write("valid_yarn", yarn().build());
  write("valid_bound_mixture", bound_mixture().build());
  write("valid_bound_extras", bound_extras());
  write("valid_bound_sinks", bound_sinks().build());
  write("valid_bound_latent", bound_latent().build());
  write("valid_bound_encoder", bound_encoder().build());
  write("valid_bound_longrope", bound_longrope());
  write("valid_windows", windows().build());
  write("valid_layers", layers().build());
  write("valid_latent", latent().build());
  write("valid_multipliers", multipliers().build());
  write("valid_cross_encoder", cross_encoder().build());
  write("valid_dense_modules", dense_modules().build());
  write("spaced_bpe", byte_level("").set("tokenizer.ggml.model", text("gemma4")).build());
  for (const char* pre : {"gpt-2", "llama-bpe", "qwen2"}) {
    write(cat("byte_level_", pre), byte_level(pre).build());
  }
  write("byte_tokens", byte_tokens().build());
  write("valid_every_type", every_type().build());
  write("valid_blocks", blocks().build());
  GgufWriter w = smallest();
  w.version = 2;
  write("valid_version_2", w.build());
  w = smallest();
  w.tensors.clear();
  write("vocabulary_only", w.build());
  write("cut_in_header", cut(valid, 20));
  write("cut_in_metadata", cut(valid, 700));
  write("cut_in_data", cut(valid, valid.size() - 1));
  w = smallest();
  w.tensor_count = std::uint64_t{1} << 63;
  write("tensor_count_2_63", w.build());
  w = smallest();
  w.entry_count = smallest().entries.size() + 1;
  write("entry_count_off_by_one", w.build());
  write("array_count_wraps", changed("x", raw_array(10, std::uint64_t{1} << 61, "")));
  write("array_of_arrays", changed("x", raw_array(9, 1, raw_array(4, 1, raw(1)).bytes)));
  write("string_length_max", changed("x", {8, raw(~std::uint64_t{0})}));
  write("bool_2", changed("tokenizer.ggml.add_bos_token", boolean(2)));
  write("alignment_3", changed("general.alignment", u32(3)));
  write("unknown_key", changed("llama.attention.scale", f32(0.5f)));
  write("split_of_two", changed("split.count", u16(2)));
  write("token_id_too_large", changed("tokenizer.ggml.eos_token_id", u32(16)));
  w = smallest();
  w.tensors[0].sizes = {std::uint64_t{1} << 32, std::uint64_t{1} << 32};
  write("dimensions_wrap", w.build());
  w = smallest();
  w.tensors[1].offset = 0;
  write("tensors_overlap", w.build());
  w = smallest();
  w.tensors[1].name = w.tensors[0].name;
  write("tensor_twice", w.build());
  w = smallest();
  w.tensors[0].type = 4;
  write("tensor_type_removed", w.build());
  return 0;
}
