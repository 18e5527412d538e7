// Recipes: which format each tensor of a quantised model gets.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "convert/tensor_list.h"
#include "model/spec.h"

namespace ingot {

/// What a name such as Q4_K_M stands for.
struct Recipe {
  std::string_view name;
  Format format{};              ///< of all matrices, or of most where mixed
  std::uint32_t file_type = 0;  ///< the number that GGUF's general.file_type has for it
  bool mixed = false;           ///< some matrices get more bits
};

/// Every recipe, smallest files last.
std::span<const Recipe> recipes();

/// The recipe of that name, or null.
const Recipe* find_recipe(std::string_view name);

/// The format of a tensor, and what the recipe said where the rows do not divide into its blocks.
struct FormatChoice {
  Format format{};
  std::optional<Format> wanted;
};

/// Vectors and routers stay F32; rows that are no multiple of a block get the next format that they
/// divide into, as the common tools choose it: Q5_0 for Q4_K, Q5_1 for Q5_K, Q8_0 for Q6_K, and at
/// last F16.
///
/// Q4_K_M is Q4_K, but Q6_K for the head and for attn_v and ffn_down of every third layer and of
/// the first and last eighth; of models with eight experts attn_k and attn_v are Q8_0 and
/// attn_output Q5_K; with 80 layers and grouped heads, attn_v is Q5_K where it would be Q4_K.
/// Source: the types in files that llama.cpp's quantize tool writes, and its documentation.
FormatChoice choose_format(const Recipe& recipe, const Spec& spec, const ListedTensor& tensor);

}  // namespace ingot
