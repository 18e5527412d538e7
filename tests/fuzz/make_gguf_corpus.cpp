// Writes the seeds of fuzz_gguf into a folder: small valid files and one of each kind of damage.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/text.h"
#include "load/gguf_writer_test_util.h"

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

GgufWriter mixture() {
  GgufWriter w = smallest();
  for (auto& [key, value] : w.entries) {
    if (key.starts_with("llama.")) key = "qwen3moe" + key.substr(5);
  }
  w.set("general.architecture", text("qwen3moe")).set("qwen3moe.expert_count", u32(4));
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
