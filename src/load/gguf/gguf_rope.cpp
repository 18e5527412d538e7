// Reads rotary embeddings from GGUF keys, and which layers have which.
#include <algorithm>

#include "base/index.h"
#include "base/math_double.h"
#include "base/text.h"
#include "load/gguf/gguf_config_parts.h"

namespace ingot {

namespace {

constexpr std::string_view kType = "rope.scaling.type";
constexpr std::string_view kAttentionFactor = "rope.scaling.attn_factor";
constexpr std::string_view kYarnAttentionFactor = "rope.scaling.yarn_attn_factor";
constexpr std::string_view kLogMultiplier = "rope.scaling.yarn_log_multiplier";
constexpr std::string_view kFactorTensors[] = {"rope_factors_long.weight",
                                               "rope_factors_short.weight"};

/// Values of the keys that several kinds of scaling use.
struct ScalingValues {
  std::string_view type;
  double attention = 1;                  ///< attn_factor: for YaRN, relative to its own factor
  std::optional<double> yarn_attention;  ///< yarn_attn_factor: in place of YaRN's own factor
  double log_multiplier = 0;
  std::optional<std::int64_t> original;
};

std::int64_t read_dims(const GgufConfigParts& parts, std::string_view rest, std::int64_t head_dim,
                       std::int64_t fallback) {
  const std::int64_t dims = parts.keys.integer(rest, 2, head_dim).value_or(fallback);
  if (dims % 2 != 0) {
    parts.keys.all().fail(cat("rotary embedding of ", dims, " elements: must be even"));
  }
  return dims;
}

double read_theta(const GgufConfigParts& parts, std::string_view rest, double fallback) {
  const std::optional<double> base = parts.keys.number(rest);
  if (base && !(*base >= 1 && *base <= 1e12)) parts.keys.refuse(rest, "must be from 1 to 1e12");
  return base.value_or(fallback);
}

/// Reads the values of `scaling` that do not depend on its kind. Older files name the factor
/// rope.scale_linear.
ScalingValues read_values(const GgufConfigParts& parts, RopeScaling& scaling) {
  const ArchitectureKeys& keys = parts.keys;
  const double old_factor = keys.positive("rope.scale_linear").value_or(1);
  scaling.factor = keys.positive("rope.scaling.factor").value_or(old_factor);
  scaling.beta_fast = keys.positive("rope.scaling.yarn_beta_fast").value_or(scaling.beta_fast);
  scaling.beta_slow = keys.positive("rope.scaling.yarn_beta_slow").value_or(scaling.beta_slow);
  return {.type = keys.text(kType).value_or(""),
          .attention = keys.positive(kAttentionFactor).value_or(1),
          .yarn_attention = keys.positive(kYarnAttentionFactor),
          .log_multiplier = keys.number(kLogMultiplier).value_or(0),
          .original = keys.integer("rope.scaling.original_context_length", 1, kContextMax)};
}

/// Factors of YaRN for MLA: the model multiplies scores by m^2, with m = multiplier ln(factor) + 1,
/// and leaves cos and sin alone.
///
/// Source: llama.cpp, deepseek2; DeepSeek-V2's modeling_deepseek.py (mscale = mscale_all_dim).
void apply_log_multiplier(const GgufConfigParts& parts, const ScalingValues& values,
                          RopeScaling& scaling) {
  if (!parts.family.mla || !(values.log_multiplier > 0)) {
    parts.keys.refuse(kLogMultiplier, "is not supported");
  }
  const std::string reason = cat("is not supported beside ", kLogMultiplier);
  if (values.attention != 1) parts.keys.refuse(kAttentionFactor, reason);
  if (values.yarn_attention) parts.keys.refuse(kYarnAttentionFactor, reason);
  const double m = values.log_multiplier * math::log(std::max(scaling.factor, 1.0)) + 1;
  scaling.attention_factor = 1;
  parts.config.attention_scale = m * m / math::pow(static_cast<double>(parts.config.head_dim), 0.5);
}

/// Converters write a config.json's attention_factor as yarn_attn_factor.
///
/// Source: llama.cpp, conversion/base.py.
void apply_yarn(const GgufConfigParts& parts, const ScalingValues& values, RopeScaling& scaling) {
  scaling.kind = RopeScaling::Kind::kYarn;
  scaling.original_context = static_cast<double>(values.original.value_or(parts.config.context));
  // A negative value means the type's default, which is 1 for yarn.
  constexpr std::string_view kExtrapolation = "rope.scaling.yarn_ext_factor";
  const double mix = parts.keys.number(kExtrapolation).value_or(1);
  if (mix != 1 && !(mix < 0)) parts.keys.refuse(kExtrapolation, "is not supported");
  if (values.attention != 1 || values.yarn_attention) {
    const double own = 0.1 * math::log(scaling.factor) + 1;
    scaling.attention_factor = values.attention * values.yarn_attention.value_or(own);
  }
  if (values.log_multiplier != 0) apply_log_multiplier(parts, values, scaling);
}

/// The factors of frequencies are tensors. The attention factor is not relative to a default.
void apply_longrope(const GgufConfigParts& parts, const ScalingValues& values,
                    RopeScaling& scaling) {
  scaling.kind = RopeScaling::Kind::kLongrope;
  scaling.original_context = static_cast<double>(values.original.value_or(parts.config.context));
  scaling.factor = static_cast<double>(parts.config.context) / scaling.original_context;
  if (parts.keys.positive(kAttentionFactor)) scaling.attention_factor = values.attention;
}

bool has_factor_tensors(const GgufConfigParts& parts) {
  return std::all_of(std::begin(kFactorTensors), std::end(kFactorTensors), parts.has_tensor);
}

/// Without a type, a factor means linear scaling. Files with factors as tensors need no type.
RopeScaling read_scaling(const GgufConfigParts& parts) {
  RopeScaling scaling;
  const ScalingValues values = read_values(parts, scaling);
  const std::string_view type = values.type;
  if (type == "yarn") {
    apply_yarn(parts, values, scaling);
    return scaling;
  }
  if (values.log_multiplier != 0) {
    parts.keys.refuse(kLogMultiplier, "is supported for yarn scaling only");
  }
  if (has_factor_tensors(parts) && (type.empty() || type == "longrope") && scaling.factor == 1) {
    apply_longrope(parts, values, scaling);
    return scaling;
  }
  if (type.empty() || type == "linear") {
    scaling.kind = scaling.factor == 1 ? RopeScaling::Kind::kNone : RopeScaling::Kind::kLinear;
  } else if (type == "none") {
    scaling = RopeScaling{};
  } else if (type == "longrope") {
    parts.keys.refuse(kType, cat("needs the tensors ", kFactorTensors[0], " and ",
                                 kFactorTensors[1], ", and no factor"));
  } else {
    parts.keys.refuse(kType, "is not supported (none, linear, yarn and longrope are)");
  }
  if (values.attention != 1 || values.yarn_attention.value_or(1) != 1) {
    parts.keys.all().fail(
        cat(parts.keys.key(kAttentionFactor), " is supported for yarn scaling only"));
  }
  return scaling;
}

/// The rotary embedding of layers with a window.
RopeConfig read_window_rope(const GgufConfigParts& parts, const RopeConfig& full) {
  RopeConfig rope = full;
  rope.dims = read_dims(parts, "rope.dimension_count_swa", parts.window_head_dim,
                        std::min(full.dims, parts.window_head_dim));
  const double theta = parts.family.window_theta > 0 ? parts.family.window_theta : full.theta;
  rope.theta = read_theta(parts, "rope.freq_base_swa", theta);
  if (parts.family.unscaled_windows) rope.scaling = RopeScaling{};
  return rope;
}

bool differ(const RopeConfig& a, const RopeConfig& b) {
  return a.theta != b.theta || a.dims != b.dims || a.scaling.kind != b.scaling.kind;
}

/// The architecture's rule, unless the file says that no layer rotates. Only some architectures
/// have the key.
Rotation read_rotation(const GgufConfigParts& parts) {
  const bool still =
      parts.family.multipliers && !parts.keys.flag("rope.scaling.finetuned").value_or(true);
  return still ? Rotation::kNone : parts.traits.rotation;
}

}  // namespace

void read_ropes(const GgufConfigParts& parts) {
  Config& config = parts.config;
  const std::int64_t rotated = parts.family.mla ? config.mla.rope : config.head_dim;
  RopeConfig& full = config.ropes.front();
  full.dims = read_dims(parts, "rope.dimension_count", rotated, rotated);
  full.theta = read_theta(parts, "rope.freq_base", 10000);
  full.scaling = read_scaling(parts);
  if (has_window_pattern(parts.traits)) {
    RopeConfig windowed = read_window_rope(parts, full);
    if (!config.window.empty() && differ(full, windowed)) {
      config.ropes.push_back(std::move(windowed));
    }
  }
  set_rope_layers(parts.traits, read_rotation(parts), config);
}

}  // namespace ingot
