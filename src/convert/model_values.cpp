// Makes a GGUF file's metadata: copies a GGUF source's keys, or converts a folder's configuration.
#include "convert/model_values.h"

#include <algorithm>

#include "base/error.h"
#include "base/math_double.h"
#include "base/text.h"
#include "convert/tokenizer_values.h"
#include "load/gguf/gguf_file.h"

namespace ingot {

namespace {

/// The version of ggml's block formats: 2 in all files since 2023.
constexpr std::uint32_t kQuantisationVersion = 2;
constexpr std::string_view kTokenizerKeys = "tokenizer.";

/// Writes a Config as GGUF keys.
class ConfigWriter {
 public:
  ConfigWriter(const Checkpoint& checkpoint, const Spec& spec, GgufValues& out,
               std::vector<std::string>& warnings)
      : checkpoint_(checkpoint),
        config_(checkpoint.config()),
        spec_(spec),
        out_(out),
        warnings_(warnings) {}

  void write() {
    out_.set_text("general.architecture", config_.architecture);
    out_.set_text("general.name", checkpoint_.name());
    write_sizes();
    write_attention();
    write_rope();
    write_experts();
  }

 private:
  void write_sizes();
  void write_attention();
  void write_rope();
  void write_yarn();
  void write_experts();

  [[noreturn]] void fail(std::string_view reason) const {
    throw model_error(checkpoint_.name(), "config", cat("GGUF cannot express that ", reason));
  }
  std::string key(std::string_view rest) const { return cat(config_.architecture, ".", rest); }
  void set_count(std::string_view rest, std::int64_t count) {
    out_.set_uint32(key(rest), static_cast<std::uint32_t>(count));  // validate_config bounds it
  }
  /// Writes a 32-bit float, GGUF's type for reals. Warns if this rounds an `exact` value.
  void set_number(std::string_view rest, double number, bool exact = true) {
    const auto rounded = static_cast<float>(number);
    if (exact && static_cast<double>(rounded) != number) {
      warnings_.push_back(cat(key(rest), " is stored as ", rounded, ", the source says ", number));
    }
    out_.set_float32(key(rest), rounded);
  }

  const Checkpoint& checkpoint_;
  const Config& config_;
  const Spec& spec_;
  GgufValues& out_;
  std::vector<std::string>& warnings_;
};

void ConfigWriter::write_sizes() {
  set_count("context_length", config_.context);
  set_count("embedding_length", config_.hidden);
  set_count("block_count", config_.layers);
  set_count("feed_forward_length", config_.ffn > 0 ? config_.ffn : config_.expert_ffn);
  if (spec_.vocab > 0) set_count("vocab_size", spec_.vocab);
}

void ConfigWriter::write_attention() {
  set_count("attention.head_count", config_.heads);
  set_count("attention.head_count_kv", config_.kv_heads);
  set_count("attention.key_length", config_.head_dim);
  set_count("attention.value_length", config_.head_dim);
  // The forward pass computes with a 32-bit float too, so rounding changes nothing.
  set_number("attention.layer_norm_rms_epsilon", config_.norm_eps, false);
  if (config_.window.empty()) return;
  const std::int64_t window = config_.window.front();
  const bool everywhere = std::all_of(config_.window.begin(), config_.window.end(),
                                      [&](std::int64_t w) { return w == window; });
  if (config_.architecture != "llama" || !everywhere) {
    fail(cat("some layers of architecture ", config_.architecture, " have a sliding window"));
  }
  set_count("attention.sliding_window", window);
}

void ConfigWriter::write_rope() {
  set_count("rope.dimension_count", config_.ropes.front().dims);
  set_number("rope.freq_base", config_.ropes.front().theta);
  switch (config_.ropes.front().scaling.kind) {
    case RopeScaling::Kind::kNone:
      break;
    case RopeScaling::Kind::kLinear:
      out_.set_text(key("rope.scaling.type"), "linear");
      set_number("rope.scaling.factor", config_.ropes.front().scaling.factor);
      break;
    case RopeScaling::Kind::kLlama3:
      // GGUF stores the divisors of frequencies as a tensor: rope_freqs.weight.
      if (config_.architecture != "llama") {
        fail(cat("architecture ", config_.architecture, " has llama3 rotary scaling"));
      }
      break;
    case RopeScaling::Kind::kYarn:
      write_yarn();
      break;
    case RopeScaling::Kind::kLongrope:
    case RopeScaling::Kind::kProportional:
      fail(cat("architecture ", config_.architecture,
               " has a rotary scaling that is not converted"));
  }
}

void ConfigWriter::write_yarn() {
  const RopeScaling& s = config_.ropes.front().scaling;
  const RopeScaling usual;
  if (!s.truncate) fail("yarn's range of corrected dimensions is not rounded (truncate)");
  out_.set_text(key("rope.scaling.type"), "yarn");
  set_number("rope.scaling.factor", s.factor);
  set_count("rope.scaling.original_context_length", static_cast<std::int64_t>(s.original_context));
  if (s.beta_fast != usual.beta_fast) set_number("rope.scaling.yarn_beta_fast", s.beta_fast);
  if (s.beta_slow != usual.beta_slow) set_number("rope.scaling.yarn_beta_slow", s.beta_slow);
  if (!s.attention_factor) return;
  // GGUF multiplies YaRN's own factor by this one.
  set_number("rope.scaling.attn_factor", *s.attention_factor / (0.1 * math::log(s.factor) + 1),
             false);
}

void ConfigWriter::write_experts() {
  if (config_.experts == 0) return;
  if (!config_.dense_layer.empty()) {
    const auto dense = std::count(config_.dense_layer.begin(), config_.dense_layer.end(), true);
    fail(cat(dense, " of ", config_.layers, " layers of architecture ", config_.architecture,
             " have no experts"));
  }
  set_count("expert_count", config_.experts);
  set_count("expert_used_count", config_.experts_used);
  set_count("expert_feed_forward_length", config_.expert_ffn);
  if (!config_.router.renormalise) out_.set_boolean(key("expert_weights_norm"), false);
}

}  // namespace

GgufValues model_values(const Checkpoint& checkpoint, const Spec& spec, const Recipe& recipe,
                        bool tokenizer, std::vector<std::string>& warnings) {
  GgufValues values;
  if (checkpoint.config().naming == Naming::kGguf) {
    for (const GgufEntry& entry : checkpoint.gguf_entries()) {
      if (entry.key.starts_with("split.")) continue;
      if (!tokenizer && entry.key.starts_with(kTokenizerKeys)) continue;
      values.add(entry);
    }
  } else {
    ConfigWriter(checkpoint, spec, values, warnings).write();
    if (tokenizer) write_tokenizer(checkpoint, values, warnings);
  }
  if (!tokenizer) values.set_text("tokenizer.ggml.model", "no_vocab");
  values.set_uint32("general.quantization_version", kQuantisationVersion);
  values.set_uint32("general.file_type", recipe.file_type);
  return values;
}

std::uint32_t alignment_of(const Checkpoint& checkpoint) {
  for (const GgufEntry& entry : checkpoint.gguf_entries()) {
    if (entry.key == "general.alignment") return entry.number<std::uint32_t>();
  }
  return GgufWriter::kAlignment;
}

}  // namespace ingot
