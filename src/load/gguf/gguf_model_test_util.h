// Model: a small GGUF model of any architecture, whose keys and tensors a test changes.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "load/architectures.h"
#include "load/gguf/gguf_families.h"
#include "load/gguf/gguf_test_util.h"
#include "load/gguf/gguf_writer_test_util.h"

namespace ingot::testing_gguf {

/// Returns the names of all architectures.
inline std::vector<std::string> all_architectures() {
  const std::string names = architecture_names();
  std::vector<std::string> all;
  for (std::size_t at = 0; at < names.size();) {
    const std::size_t end = std::min(names.find(", ", at), names.size());
    all.push_back(names.substr(at, end - at));
    at = end + 2;
  }
  return all;
}

/// Writes keys of one architecture by the part after the point.
class Model {
 public:
  /// The tiny model with `layers` layers, and the keys that the architecture needs.
  explicit Model(std::string_view architecture, std::uint32_t layers = 4)
      : name_(architecture), writer_(tiny_model()) {
    for (auto& [key, value] : writer_.entries) {
      if (key.starts_with("llama.")) key = cat(name_, key.substr(5));
    }
    writer_.set("general.architecture", text(name_));
    set("block_count", u32(layers));
    const ArchitectureTraits& traits = *find_architecture(name_);
    const GgufFamily& family = gguf_family(name_);
    if (traits.norm == Normalisation::kLayer) {
      remove("attention.layer_norm_rms_epsilon").set("attention.layer_norm_epsilon", f32(1e-5f));
    }
    if (family.windows == WindowRule::kPattern) set("attention.sliding_window", u32(8));
    if (family.needs_experts) {
      set("expert_count", u32(4)).set("expert_used_count", u32(2));
      set("expert_feed_forward_length", u32(12));
    }
    if (family.mla) {
      set("attention.kv_lora_rank", u32(16)).set("rope.dimension_count", u32(4));
      set("attention.key_length", u32(12)).set("attention.value_length", u32(6));
    }
  }

  const std::string& name() const { return name_; }
  Model& set(std::string_view rest, Value value) {
    return set_key(cat(name_, ".", rest), std::move(value));
  }
  /// Sets a key by its whole name.
  Model& set_key(std::string_view key, Value value) {
    writer_.set(key, std::move(value));
    return *this;
  }
  Model& remove(std::string_view rest) {
    writer_.remove(cat(name_, ".", rest));
    return *this;
  }
  Model& tensor(std::string tensor, std::vector<std::uint64_t> sizes) {
    writer_.tensor(std::move(tensor), std::move(sizes));
    return *this;
  }
  Model& without_tensor(std::string_view tensor) {
    std::erase_if(writer_.tensors, [&](const Tensor& t) { return t.name == tensor; });
    return *this;
  }

  std::string bytes() const { return writer_.build(); }
  Config config() const { return open_bytes(writer_.build()).config(); }
  /// Expects that opening fails with a message that begins with the key: "deepseek2.REASON".
  void expect_refused(std::string_view reason) const {
    expect_refusal(writer_.build(), cat(name_, ".", reason));
  }
  /// Expects that opening fails with a message that contains `reason`.
  void expect_refusal_of(std::string_view reason) const { expect_refusal(writer_.build(), reason); }

 private:
  std::string name_;
  GgufWriter writer_;
};

}  // namespace ingot::testing_gguf
