// write_zero_gpt_oss: a folder with experts in MXFP4, whose weights are all zero. For tests.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/temp_folder_test_util.h"
#include "base/text.h"
#include "load/hf/hf_test_util.h"

namespace ingot::testing_support {

/// The tensors of a safetensors file, all zeros.
class ZeroTensors {
 public:
  void add(std::string_view name, std::string_view type, const std::vector<std::int64_t>& shape) {
    std::int64_t bytes = type == "U8" ? 1 : 2;
    std::string sizes = "[";
    for (const std::int64_t size : shape) {
      bytes *= size;
      sizes += cat(sizes.size() > 1 ? "," : "", size);
    }
    header_ += cat(
        header_.empty() ? "{" : ",",
        testing_hf::tensor_entry(name, type, sizes + "]", cat("[", end_, ",", end_ + bytes, "]")));
    end_ += bytes;
  }
  std::string file() const {
    return testing_hf::safetensors_file(header_ + "}",
                                        std::string(static_cast<std::size_t>(end_), '\0'));
  }

 private:
  std::string header_;
  std::int64_t end_ = 0;
};

/// Writes a folder with GPT-OSS of one layer and 128 experts in MXFP4.
inline void write_zero_gpt_oss(const TempFolder& folder) {
  constexpr std::int64_t kHidden = 64, kExperts = 128;
  folder.write("config.json", cat(R"({"model_type": "gpt_oss", "num_hidden_layers": 1,
      "hidden_size": 64, "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 32,
      "intermediate_size": 64, "vocab_size": 8, "max_position_embeddings": 64,
      "num_experts_per_tok": 2, "quantization_config": {"quant_method": "mxfp4"},
      "rope_parameters": {"rope_type": "default", "rope_theta": 150000.0},
      "num_local_experts": )",
                                  kExperts, "}"));
  ZeroTensors tensors;
  const std::string layer = "model.layers.0.", attention = layer + "self_attn.";
  for (const char* name : {"model.embed_tokens.weight", "lm_head.weight"}) {
    tensors.add(name, "BF16", {8, kHidden});
  }
  for (const char* name : {"input_layernorm.weight", "post_attention_layernorm.weight"}) {
    tensors.add(layer + name, "BF16", {kHidden});
  }
  for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"}) {
    tensors.add(cat(attention, name, ".weight"), "BF16", {kHidden, kHidden});
    tensors.add(cat(attention, name, ".bias"), "BF16", {kHidden});
  }
  tensors.add(attention + "sinks", "BF16", {2});
  tensors.add(layer + "mlp.router.weight", "BF16", {kExperts, kHidden});
  tensors.add(layer + "mlp.router.bias", "BF16", {kExperts});
  for (const auto& [name, rows] :
       {std::pair{"gate_up_proj", 2 * kHidden}, {"down_proj", kHidden}}) {
    const std::string experts = cat(layer, "mlp.experts.", name);
    tensors.add(experts + "_bias", "BF16", {kExperts, rows});
    tensors.add(experts + "_blocks", "U8", {kExperts, rows, kHidden / 32, 16});
    tensors.add(experts + "_scales", "U8", {kExperts, rows, kHidden / 32});
  }
  tensors.add("model.norm.weight", "BF16", {kHidden});
  folder.write("model.safetensors", tensors.file());
}

}  // namespace ingot::testing_support
