// Recipes: choose the format of each tensor of a quantised model.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "convert/tensor_list.h"
#include "model/spec.h"

namespace ingot {

/// A named choice of formats, such as Q4_K_M.
struct Recipe {
  std::string_view name;
  Format format{};              ///< the format of all matrices, or of most matrices if `mixed`
  std::uint32_t file_type = 0;  ///< the recipe's number in GGUF's general.file_type
  bool mixed = false;           ///< true: some matrices get formats with more bits
};

/// Returns all recipes, the largest files first.
std::span<const Recipe> recipes();

/// Returns the recipe with this name, ignoring case; null if there is none.
const Recipe* find_recipe(std::string_view name);

/// The chosen format. `wanted`: the recipe's format, if rows do not divide into blocks of `wanted`.
struct FormatChoice {
  Format format{};
  std::optional<Format> wanted;
};

/// Chooses a tensor's format. Vectors, routers and layers after pooling are F32. Rows that do not
/// divide into blocks get the replacement that common tools choose: Q5_0 for Q4_K, Q5_1 for Q5_K,
/// Q8_0 for Q6_K, else F16.
///
/// Q4_K_M is Q4_K, with exceptions. The output head is Q6_K, attn_qkv is Q5_K. attn_v and ffn_down,
/// also of experts, are Q6_K in every third layer and in the first and last eighth of the layers.
/// With eight experts, attn_k and attn_v are Q8_0, and attn_output is Q5_K. With 80 layers and
/// grouped heads, attn_v is Q5_K instead of Q4_K. Source: the types in files that llama.cpp's
/// quantize tool writes, and its documentation.
FormatChoice choose_format(const Recipe& recipe, const Spec& spec, const ListedTensor& tensor);

}  // namespace ingot
