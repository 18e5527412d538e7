// The table of architectures. A new model family begins with a row here.
//
// Source: transformers 5.24 (models/*/modeling_*.py), gguf-py 0.19 (constants.py).
#include "load/architectures.h"

#include "base/index.h"
#include "base/text.h"

namespace ingot {

namespace {

constexpr RopeStyle kAdjacent = RopeStyle::kAdjacent;
constexpr Normalisation kLayer = Normalisation::kLayer;
constexpr Activation kGeluTanh = Activation::kGeluTanh;
constexpr Activation kGeluErf = Activation::kGeluErf;

constexpr std::array kArchitectures = std::to_array<ArchitectureTraits>({
    {.name = "llama", .gguf_style = kAdjacent, .experts = true, .small_values_at = 80},
    {.name = "qwen2", .small_values_at = 80},
    {.name = "qwen3"},
    {.name = "qwen3moe", .experts = true},
    {.name = "qwen2moe", .experts = true},
    {.name = "gemma", .activation = kGeluTanh},
    {.name = "gemma2", .activation = kGeluTanh, .windows = {2}},
    {.name = "gemma3", .activation = kGeluTanh, .windows = {6}},
    {.name = "gemma4",
     .activation = kGeluTanh,
     .v_norm = true,
     .attention_scale = 1.0,
     .windows = {6}},
    {.name = "gemma-embedding", .activation = kGeluTanh, .causal = false, .windows = {6}},
    {.name = "phi3"},
    {.name = "granite", .gguf_style = kAdjacent},
    {.name = "granitemoe", .gguf_style = kAdjacent, .experts = true},
    {.name = "olmo2", .windows = {4}},
    {.name = "olmoe", .experts = true},
    {.name = "glm4", .gguf_style = kAdjacent, .hf_style = kAdjacent},
    {.name = "glm4moe", .experts = true, .sigmoid_router = true},
    {.name = "starcoder2", .norm = kLayer, .activation = kGeluTanh, .gated = false},
    {.name = "stablelm", .norm = kLayer},
    {.name = "command-r",
     .gguf_style = kAdjacent,
     .hf_style = kAdjacent,
     .norm = kLayer,
     .parallel_residual = true},
    {.name = "cohere2",
     .gguf_style = kAdjacent,
     .hf_style = kAdjacent,
     .norm = kLayer,
     .parallel_residual = true,
     .windows = {4},
     .rotation = Rotation::kWindowed},
    {.name = "smollm3", .gguf_style = kAdjacent, .nope_period = 4},
    {.name = "ernie4_5", .gguf_style = kAdjacent, .hf_style = kAdjacent},
    {.name = "hunyuan-dense", .qk_norm_after_rope = true},
    {.name = "gpt-oss", .activation = Activation::kGptOss, .experts = true, .windows = {2}},
    {.name = "deepseek2", .gguf_style = kAdjacent, .hf_style = kAdjacent, .experts = true},
    {.name = "seed_oss"},
    {.name = "exaone4", .windows = {4}, .rotation = Rotation::kWindowedIfAny},
    {.name = "bert",
     .norm = kLayer,
     .activation = kGeluErf,
     .gated = false,
     .causal = false,
     .rotation = Rotation::kNone},
    {.name = "mpnet",
     .norm = kLayer,
     .activation = kGeluErf,
     .gated = false,
     .causal = false,
     .rotation = Rotation::kNone},
    {.name = "nomic-bert", .norm = kLayer, .causal = false},
    {.name = "modern-bert",
     .norm = kLayer,
     .activation = kGeluErf,
     .causal = false,
     .windows = {3, true}},
});

}  // namespace

const ArchitectureTraits* find_architecture(std::string_view name) {
  for (const ArchitectureTraits& traits : kArchitectures) {
    if (traits.name == name) return &traits;
  }
  return nullptr;
}

std::string architecture_names() {
  std::string names;
  for (const ArchitectureTraits& traits : kArchitectures) {
    names += cat(names.empty() ? "" : ", ", traits.name);
  }
  return names;
}

void apply_traits(const ArchitectureTraits& traits, Config& config) {
  config.architecture = traits.name;
  config.ropes.front().style = config.naming == Naming::kGguf ? traits.gguf_style : traits.hf_style;
  config.norm = traits.norm;
  config.activation = traits.activation;
  config.gated = traits.gated;
  config.parallel_residual = traits.parallel_residual;
  config.causal = traits.causal;
  config.qk_norm_after_rope = traits.qk_norm_after_rope;
  config.v_norm = traits.v_norm;
  config.attention_scale = traits.attention_scale;
  config.router.sigmoid = traits.sigmoid_router;
}

bool rotates(Rotation rule, bool windowed, bool has_windows) {
  switch (rule) {
    case Rotation::kAll:
      return true;
    case Rotation::kWindowed:
      return windowed;
    case Rotation::kWindowedIfAny:
      return windowed || !has_windows;
    case Rotation::kNone:
      return false;
  }
  return false;
}

void set_rope_layers(const ArchitectureTraits& traits, Rotation rule, Config& config) {
  const bool has_windows = !config.window.empty();
  std::vector<std::int32_t> ropes;
  bool first_everywhere = true;
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    const bool windowed = has_windows && at(config.window, layer) > 0;
    const bool nope = traits.nope_period > 0 && (layer + 1) % traits.nope_period == 0;
    const bool still = nope || !rotates(rule, windowed, has_windows);
    ropes.push_back(still ? -1 : windowed && config.ropes.size() > 1 ? 1 : 0);
    first_everywhere = first_everywhere && ropes.back() == 0;
  }
  if (!first_everywhere) config.rope_layer = std::move(ropes);
}

}  // namespace ingot
