// Reads experts and router rules from GGUF keys.
#include "base/index.h"
#include "base/text.h"
#include "load/gguf/gguf_config_parts.h"

namespace ingot {

namespace {

/// Values of expert_gating_func.
constexpr std::int64_t kSoftmax = 1;
constexpr std::int64_t kSigmoid = 2;
constexpr std::int64_t kSoftmaxOfChosen = 3;  ///< softmax of the chosen experts' logits

void read_groups(const GgufConfigParts& parts) {
  constexpr std::string_view kGroups = "expert_group_count";
  constexpr std::string_view kUsed = "expert_group_used_count";
  const Config& config = parts.config;
  RouterRules& router = parts.config.router;
  // 0 stands for no groups.
  const auto groups = parts.keys.integer(kGroups, 0, config.experts).value_or(0);
  const auto used = parts.keys.integer(kUsed, 0, std::max<std::int64_t>(groups, 1)).value_or(0);
  if (groups <= 1) return;
  if (config.experts % groups != 0) {
    parts.keys.refuse(kGroups, cat("does not divide ", config.experts, " experts"));
  }
  if (used == 0) parts.keys.refuse(kGroups, cat("needs ", parts.keys.key(kUsed)));
  if (config.experts_used > config.experts / groups * used) {
    parts.keys.refuse(kUsed, cat("groups have fewer than ", config.experts_used, " experts"));
  }
  router.groups = groups;
  router.groups_used = used;
  // DeepSeek-V3 has sigmoids and ranks by two; DeepSeek-V2 has softmax and ranks by one.
  router.groups_by_two_best = router.sigmoid;
}

void read_router(const GgufConfigParts& parts) {
  constexpr std::string_view kGating = "expert_gating_func";
  constexpr std::string_view kScale = "expert_weights_scale";
  RouterRules& router = parts.config.router;
  const auto gating = parts.keys.integer(kGating, 0, 0xffff).value_or(0);
  // 0 stands for the architecture's own function.
  if (gating == kSoftmax || gating == kSoftmaxOfChosen) {
    router.sigmoid = false;
  } else if (gating == kSigmoid) {
    router.sigmoid = true;
  } else if (gating != 0) {
    parts.keys.refuse(kGating, "is not supported");
  }
  if (gating == kSoftmaxOfChosen) router.renormalise = true;
  // 0 stands for none.
  if (parts.keys.number(kScale).value_or(0) != 0) router.scale = *parts.keys.positive(kScale);
  read_groups(parts);
}

void read_dense_layers(const GgufConfigParts& parts) {
  Config& config = parts.config;
  const std::int64_t dense =
      parts.keys.integer("leading_dense_block_count", 0, config.layers).value_or(0);
  for (std::int64_t i = 0; dense > 0 && i < config.layers; ++i) {
    config.dense_layer.push_back(i < dense);
  }
}

/// The width of the shared experts together: stated, or by their number.
std::int64_t read_shared_width(const GgufConfigParts& parts) {
  constexpr std::string_view kWidth = "expert_shared_feed_forward_length";
  const auto count = parts.keys.integer("expert_shared_count", 0, kExpertsMax);
  const auto width = parts.keys.integer(kWidth, 0, kFfnMax);
  const std::int64_t by_count = count.value_or(0) * parts.config.expert_ffn;
  if (by_count > kFfnMax) parts.keys.refuse("expert_shared_count", cat("gives over ", kFfnMax));
  if (width && count && *width != by_count) {
    parts.keys.refuse(kWidth, cat("is not that of ", *count, " experts"));
  }
  return width.value_or(by_count);
}

}  // namespace

void read_experts(const GgufConfigParts& parts) {
  const ArchitectureKeys& keys = parts.keys;
  const GgufFamily& family = parts.family;
  Config& config = parts.config;
  config.experts = keys.integer("expert_count", 0, kExpertsMax).value_or(0);
  if (config.experts > 0 && !parts.traits.experts) {
    keys.refuse("expert_count", "is not supported for this architecture");
  }
  if (config.experts == 0 && family.needs_experts) keys.missing("expert_count");
  const auto used = keys.integer("expert_used_count", 0, config.experts);
  const auto ffn = keys.integer("expert_feed_forward_length", 1, kFfnMax);
  const auto normalised = keys.flag("expert_weights_norm");
  if (config.experts > 0) {
    if (used.value_or(0) == 0) {
      keys.all().fail(cat(keys.key("expert_used_count"), " is missing or 0"));
    }
    config.experts_used = *used;
    if (!ffn && !family.experts_are_ffn) keys.missing("expert_feed_forward_length");
    config.expert_ffn = ffn.value_or(config.ffn);
    config.router.renormalise = normalised.value_or(family.renormalise);
  }
  if (family.shared_experts) {
    const std::int64_t shared = read_shared_width(parts);
    if (config.experts > 0) config.shared_ffn = shared;
  }
  if (!family.router_rules) return;
  read_router(parts);
  if (config.experts > 0) {
    read_dense_layers(parts);
  } else {
    keys.integer("leading_dense_block_count", 0, config.layers);
  }
}

}  // namespace ingot
