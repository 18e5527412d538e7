// The table of what GGUF keys mean in each architecture.
//
// Source: llama.cpp, load_hparams and the graphs of its models; its conversion scripts.
#include "load/gguf/gguf_families.h"

#include <array>

namespace ingot {

namespace {

constexpr std::array kFamilies = std::to_array<GgufFamily>({
    {.architecture = "llama", .windows = WindowRule::kAllLayers, .experts_are_ffn = true},
    {.architecture = "qwen3", .classifier = true},
    {.architecture = "qwen3moe", .needs_experts = true},
    {.architecture = "qwen2moe",
     .needs_experts = true,
     .renormalise = false,
     .shared_experts = true},
    {.architecture = "gemma", .root_embeddings = true},
    {.architecture = "gemma2",
     .windows = WindowRule::kPattern,
     .default_window = 4096,
     .root_embeddings = true,
     .score_cap = true,
     .logit_cap = true,
     .wide_score_layers = 46},
    {.architecture = "gemma3",
     .window_theta = 10000,
     .unscaled_windows = true,
     .root_embeddings = true,
     .logit_cap = true,
     .wide_score_layers = 62},
    {.architecture = "gemma4",
     .windows = WindowRule::kPattern,
     .window_theta = 10000,
     .unscaled_windows = true,
     .root_embeddings = true,
     .logit_cap = true,
     .layer_inputs = true},
    {.architecture = "gemma-embedding",
     .windows = WindowRule::kPattern,
     .window_theta = 10000,
     .unscaled_windows = true,
     .root_embeddings = true,
     .dense_modules = true},
    {.architecture = "phi3", .windows = WindowRule::kAllLayers},
    {.architecture = "granite", .multipliers = true, .logit_scale = LogitScale::kDivisor},
    {.architecture = "granitemoe",
     .multipliers = true,
     .logit_scale = LogitScale::kDivisor,
     .needs_experts = true,
     .experts_are_ffn = true,
     .shared_experts = true},
    {.architecture = "olmo2", .unscaled_windows = true},
    {.architecture = "olmoe", .needs_experts = true, .experts_are_ffn = true, .renormalise = false},
    {.architecture = "glm4moe",
     .needs_experts = true,
     .renormalise = false,
     .router_rules = true,
     .shared_experts = true},
    {.architecture = "starcoder2", .windows = WindowRule::kAllLayers},
    {.architecture = "stablelm", .residual_by_norm = true},
    {.architecture = "command-r", .logit_scale = LogitScale::kFactor},
    {.architecture = "cohere2",
     .windows = WindowRule::kPattern,
     .logit_scale = LogitScale::kFactor},
    {.architecture = "gpt-oss", .windows = WindowRule::kPattern, .needs_experts = true},
    {.architecture = "deepseek2",
     .renormalise = false,
     .router_rules = true,
     .shared_experts = true,
     .mla = true},
    {.architecture = "bert", .classifier = true},
    {.architecture = "modern-bert",
     .windows = WindowRule::kPattern,
     .window_theta = 10000,
     .unscaled_windows = true},
});

constexpr GgufFamily kDefaults{};

}  // namespace

const GgufFamily& gguf_family(std::string_view architecture) {
  for (const GgufFamily& family : kFamilies) {
    if (family.architecture == architecture) return family;
  }
  return kDefaults;
}

bool has_window_pattern(const ArchitectureTraits& traits) {
  const WindowRule rule = gguf_family(traits.name).windows;
  const bool if_stated = rule == WindowRule::kIfStated && traits.windows.period > 0;
  return rule == WindowRule::kPattern || if_stated;
}

}  // namespace ingot
