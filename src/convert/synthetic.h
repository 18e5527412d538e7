// Synthetic models for benchmarks and tests: real shapes, random weights, no tokenizer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/function_ref.h"
#include "base/thread_pool.h"
#include "convert/recipe.h"
#include "convert/tensor_list.h"
#include "load/gguf/gguf_writer.h"

namespace ingot {

/// A GGUF key of a shape, without the architecture's name in front.
struct SyntheticKey {
  std::string_view name;
  /// A number with a fraction is stored as float32, a whole one as uint32.
  std::variant<std::int64_t, double, bool, std::string_view> value;
};

/// What a synthetic model is like. Most shapes are those of published models. The tensors follow
/// from the architecture's family.
struct SyntheticShape {
  std::string_view name;          ///< the name on the command line: "qwen3-0.6b"
  std::string_view architecture;  ///< the architecture's name in GGUF
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t ffn = 0;
  std::int64_t vocab = 0;
  std::int64_t context = 0;
  std::int32_t heads = 0;
  std::int32_t kv_heads = 0;
  std::int32_t head_dim = 0;
  double rope_theta = 0;  ///< 0: the architecture has no rotary embedding
  double norm_eps = 0;
  bool tied = true;  ///< true: the embedding matrix is also the output head
  std::int64_t experts = 0;
  std::int64_t experts_used = 0;
  std::int64_t expert_ffn = 0;
  std::span<const SyntheticKey> keys{};  ///< more keys, or other values of the keys above
  /// Tensors that files of the architecture may lack, without "blk.N.": "attn_q_norm.weight".
  std::span<const std::string_view> tensors{};
};

/// Returns all shapes, the largest first.
std::span<const SyntheticShape> synthetic_shapes();

/// Returns the shape with this name; null if there is none.
const SyntheticShape* find_synthetic_shape(std::string_view name);

/// Returns the recipe `name`. If `name` is a format, returns a recipe that gives all matrices this
/// format. Returns nullopt for other names.
std::optional<Recipe> synthetic_recipe(std::string_view name);

/// Metadata and tensors of a synthetic model, before weights are drawn.
struct SyntheticPlan {
  GgufValues values;
  std::vector<ListedTensor> tensors;  ///< tensors of the file; their `parts` are empty
  std::vector<Format> formats;        ///< the format of each tensor
  std::uint32_t seed = 0;

  std::uint64_t bytes() const;  ///< returns the bytes of all tensors
};

/// Plans a model with this shape and `layers` layers (at least 1).
SyntheticPlan plan_synthetic(const SyntheticShape& shape, const Recipe& recipe, std::int64_t layers,
                             std::uint32_t seed);

/// Writes the model's file. Its bytes depend on the plan alone, not on threads, machine or time.
///
/// Weights of a matrix with K columns have about mean 0 and variance 1 / K, so that logits stay
/// finite through any number of layers. Norm weights lie between 0.9 and 1.1, biases and other
/// vectors between -0.1 and 0.1. `progress` receives written bytes and may throw to end the work.
/// Errors: kIo when the file cannot be written.
void write_synthetic(const SyntheticPlan& plan, const std::string& path, ThreadPool& pool,
                     FunctionRef<void(std::uint64_t done, std::uint64_t total)> progress);

}  // namespace ingot
