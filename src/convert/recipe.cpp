// The table of recipes, and the choice of each tensor's format, with the exceptions of Q4_K_M.
#include "convert/recipe.h"

#include <algorithm>
#include <array>

#include "base/ignore_case.h"
#include "load/architectures.h"
#include "quant/encode.h"
#include "quant/formats.h"

namespace ingot {

namespace {

// general.file_type of each recipe. Source: GGUF specification (ggml, docs/gguf.md).
constexpr std::array kRecipes = std::to_array<Recipe>({
    {"F32", F32::kFormat, 0},
    {"BF16", BF16::kFormat, 32},
    {"F16", F16::kFormat, 1},
    {"Q8_0", Q8_0::kFormat, 7},
    {"Q6_K", Q6_K::kFormat, 18},
    {"Q5_K", Q5_K::kFormat, 16},
    {"Q4_K_M", Q4_K::kFormat, 15, true},
    {"Q4_K", Q4_K::kFormat, 14},
    {"Q4_0", Q4_0::kFormat, 2},
});

/// Whether the layer's attn_v and ffn_down get more bits.
bool gets_more_bits(std::int64_t layer, std::int64_t layers) {
  const std::int64_t eighth = layers / 8;
  return layer < eighth || layer >= 7 * layers / 8 || (layer - eighth) % 3 == 2;
}

/// Whether attn_v is small because many query heads share a kv head, so that more bits cost little.
bool has_small_values(const Spec& spec) {
  const ArchitectureTraits* traits = find_architecture(spec.architecture);
  return traits != nullptr && spec.layers == traits->small_values_at &&
         spec.layer(0).heads != spec.layer(0).kv_heads;
}

/// Whether a matrix stays in F32: few values, on which choices or many results depend.
bool stays_exact(TensorRole role) {
  switch (role) {
    case TensorRole::kRouter:
    case TensorRole::kSharedRouter:
    case TensorRole::kPositions:
    case TensorRole::kTypes:
    case TensorRole::kRelativeBias:
    case TensorRole::kQNormEach:
    case TensorRole::kKNormEach:
    case TensorRole::kExpertGateBias:
    case TensorRole::kExpertUpBias:
    case TensorRole::kExpertDownBias:
    case TensorRole::kRoles:  // a layer after pooling
      return true;
    default:
      return false;
  }
}

Format mixed_format(const Spec& spec, const ListedTensor& tensor) {
  const bool eight_experts = spec.moe.experts == 8;
  const Format raised = gets_more_bits(tensor.layer, spec.layers) ? Q6_K::kFormat : Q4_K::kFormat;
  switch (tensor.role) {
    case TensorRole::kHead:
      return Q6_K::kFormat;
    case TensorRole::kEmbedding:
      return spec.tied ? Q6_K::kFormat : Q4_K::kFormat;
    case TensorRole::kQkv:
      return Q5_K::kFormat;
    case TensorRole::kK:
      return eight_experts ? Q8_0::kFormat : Q4_K::kFormat;
    case TensorRole::kV:
      if (eight_experts) return Q8_0::kFormat;
      return raised == Q4_K::kFormat && has_small_values(spec) ? Q5_K::kFormat : raised;
    case TensorRole::kAttnOut:
      return eight_experts ? Q5_K::kFormat : Q4_K::kFormat;
    case TensorRole::kDown:
    case TensorRole::kExpertDown:
    case TensorRole::kSharedDown:
      return raised;
    default:
      return Q4_K::kFormat;
  }
}

}  // namespace

std::span<const Recipe> recipes() { return kRecipes; }

const Recipe* find_recipe(std::string_view name) {
  const auto found = std::find_if(kRecipes.begin(), kRecipes.end(), [&](const Recipe& recipe) {
    return equal_ignoring_case(recipe.name, name);
  });
  return found == kRecipes.end() ? nullptr : &*found;
}

FormatChoice choose_format(const Recipe& recipe, const Spec& spec, const ListedTensor& tensor) {
  const bool is_vector = tensor.shape.size() == 1 || tensor.rows() == 1;
  if (is_vector || stays_exact(tensor.role)) return {F32::kFormat, {}};
  const Format wanted = recipe.mixed ? mixed_format(spec, tensor) : recipe.format;
  const Format format = format_for_rows(wanted, tensor.cols());
  if (format == wanted) return {format, {}};
  return {format, wanted};
}

}  // namespace ingot
