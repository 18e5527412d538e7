// Reads rotary embedding (RoPE) parameters of config.json, in the old and the new spelling.
#include <algorithm>
#include <array>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "load/hf/hf_config.h"

namespace ingot {

namespace {

constexpr double kDefaultTheta = 10000;

/// Members that a rope object may have. Any other member could change the frequencies in an unknown
/// way.
constexpr std::array kKnownKeys = std::to_array<std::string_view>({
    "rope_type", "type", "rope_theta", "partial_rotary_factor", "factor", "low_freq_factor",
    "high_freq_factor", "original_max_position_embeddings", "attention_factor", "beta_fast",
    "beta_slow", "mscale", "mscale_all_dim", "truncate",
    "finetuned",  // a note in early YaRN checkpoints, without effect
});

void refuse_partial(const JsonKeys& keys) {
  const auto fraction = keys.number("partial_rotary_factor");
  if (fraction && *fraction != 1) {
    keys.refuse("partial_rotary_factor", "only whole heads are rotated in this architecture");
  }
}

RopeScaling::Kind read_kind(const JsonKeys& keys) {
  const std::string* type = keys.text("rope_type");
  const std::string* old_type = keys.text("type");
  if (type != nullptr && old_type != nullptr && *type != *old_type) {
    keys.refuse("type", "it differs from rope_type");
  }
  const std::string_view key = type != nullptr ? "rope_type" : "type";
  if (type == nullptr) type = old_type;
  if (type == nullptr) {
    // Without a type the object may have theta only, as in the newest spelling.
    if (keys.get("factor") != nullptr) keys.missing("rope_type");
    return RopeScaling::Kind::kNone;
  }
  if (*type == "default") return RopeScaling::Kind::kNone;
  if (*type == "linear") return RopeScaling::Kind::kLinear;
  if (*type == "llama3") return RopeScaling::Kind::kLlama3;
  if (*type == "yarn") return RopeScaling::Kind::kYarn;
  keys.refuse(key, "supported are default, linear, llama3, yarn");
}

double original_context(const JsonKeys& keys) {
  return static_cast<double>(
      keys.required_integer("original_max_position_embeddings", 1, kContextMax));
}

void check_factor(const JsonKeys& keys, double factor) {
  if (!(factor >= 1)) keys.refuse("factor", "it must be at least 1");
}

void read_llama3(const JsonKeys& keys, RopeScaling& scaling) {
  check_factor(keys, scaling.factor);
  scaling.low_freq_factor = keys.required_number("low_freq_factor");
  scaling.high_freq_factor = keys.required_number("high_freq_factor");
  scaling.original_context = original_context(keys);
}

void read_yarn(const JsonKeys& keys, std::int64_t context, RopeScaling& scaling) {
  check_factor(keys, scaling.factor);
  const bool says_original = keys.get("original_max_position_embeddings") != nullptr;
  scaling.original_context = says_original ? original_context(keys) : static_cast<double>(context);
  scaling.beta_fast = keys.number("beta_fast").value_or(scaling.beta_fast);
  scaling.beta_slow = keys.number("beta_slow").value_or(scaling.beta_slow);
  scaling.truncate = keys.boolean("truncate").value_or(scaling.truncate);
  scaling.attention_factor = keys.number("attention_factor");
  const auto mscale = keys.number("mscale");
  const auto mscale_all = keys.number("mscale_all_dim");
  if (mscale != mscale_all) {
    const std::string_view key = mscale ? "mscale" : "mscale_all_dim";
    keys.refuse(key, "mscale and mscale_all_dim are supported only where equal");
  }
  // If equal, they cancel each other in the factor on cos and sin.
  if (mscale && *mscale != 0 && !scaling.attention_factor) scaling.attention_factor = 1.0;
}

void refuse_unknown(const Json& object, const JsonKeys& keys, LoadNotes& notes) {
  for (const auto& [key, value] : *object.as_object()) {
    const bool known = std::find(kKnownKeys.begin(), kKnownKeys.end(), key) != kKnownKeys.end();
    if (known || value.is_null()) continue;
    const std::string name = keys.prefix() + key;
    if (notes.accepts(keys.file(), name, shown(value))) continue;
    keys.refuse(printable(key), value, cat("it is not supported", LoadNotes::advice(name)));
  }
}

void read_object(const JsonKeys& keys, Config& config) {
  refuse_partial(keys);
  RopeScaling& scaling = config.ropes.front().scaling;
  scaling.kind = read_kind(keys);
  if (scaling.kind == RopeScaling::Kind::kNone) return;
  scaling.factor = keys.required_number("factor");
  if (scaling.kind == RopeScaling::Kind::kLlama3) read_llama3(keys, scaling);
  if (scaling.kind == RopeScaling::Kind::kYarn) read_yarn(keys, config.context, scaling);
}

/// Checks that the old and the new spelling agree, if a file has both.
void read_theta(const JsonKeys& outer, const JsonKeys* inner, Config& config) {
  const auto old_theta = outer.number("rope_theta");
  const auto new_theta = inner == nullptr ? std::nullopt : inner->number("rope_theta");
  if (old_theta && new_theta && *old_theta != *new_theta) {
    outer.refuse("rope_theta", cat("the rotary parameters say ", *new_theta));
  }
  config.ropes.front().theta = new_theta ? *new_theta : old_theta.value_or(kDefaultTheta);
}

/// Reads the original context that some files repeat outside of the rope object.
void check_outer_original(const JsonKeys& outer, const Config& config) {
  const auto original = outer.integer("original_max_position_embeddings", 1, kContextMax);
  if (!original) return;
  const bool scaled = config.ropes.front().scaling.kind == RopeScaling::Kind::kLlama3 ||
                      config.ropes.front().scaling.kind == RopeScaling::Kind::kYarn;
  if (scaled && config.ropes.front().scaling.original_context != static_cast<double>(*original)) {
    outer.refuse("original_max_position_embeddings",
                 cat("the rotary parameters say ", config.ropes.front().scaling.original_context));
  }
}

}  // namespace

void read_hf_rope(const JsonKeys& keys, const std::string& file, Config& config, LoadNotes& notes) {
  config.ropes.front().style = RopeStyle::kHalfSplit;
  config.ropes.front().dims = config.head_dim;
  refuse_partial(keys);
  const Json* old_object = keys.get("rope_scaling");
  const Json* new_object = keys.get("rope_parameters");
  if (old_object != nullptr && new_object != nullptr) {
    keys.fail("both rope_scaling and rope_parameters are given");
  }
  const std::string_view name = old_object != nullptr ? "rope_scaling" : "rope_parameters";
  const Json* object = old_object != nullptr ? old_object : new_object;
  if (object == nullptr) {
    read_theta(keys, nullptr, config);
    check_outer_original(keys, config);
    return;
  }
  if (object->as_object() == nullptr) keys.refuse(name, *object, "expected an object");
  const JsonKeys inner(*object, file, cat(name, "."));
  read_theta(keys, &inner, config);
  refuse_unknown(*object, inner, notes);
  read_object(inner, config);
  check_outer_original(keys, config);
}

}  // namespace ingot
