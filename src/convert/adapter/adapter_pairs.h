// convert_pairs: the pairs of an adapter as files of the other naming have them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/view.h"
#include "load/adapter/adapter_file.h"
#include "model/adapter_plan.h"
#include "model/adapter_targets.h"

namespace ingot {

/// A matrix of an adapter in memory, in row-major order.
struct AdapterMatrix {
  Format format{};  ///< F32, F16 or BF16
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::vector<std::byte> bytes;
};

/// A pair to write. The module has one matrix, or all experts' matrices.
struct NewPair {
  std::string module;  ///< in the naming of the file to write; see AdapterPair
  /// kLinear; kEmbedding with A [V, rank]; kStack in GGUF, or kParameter in PEFT.
  AdapterPairKind kind{};
  std::int64_t rank = 0;
  double scale = 0;
  std::vector<AdapterMatrix> a{};  ///< [rank, inputs], one for each expert of a stack
  std::vector<AdapterMatrix> b{};  ///< [outputs, rank]
};

/// Returns an adapter's pairs for a file of naming `naming`, which change the same rows of the
/// model by the same values. Matrices keep their format. A matrix from several formats
/// gets F32. `plan`: of `file` and `targets`. `prefix`: what Hugging Face names begin with.
///
/// Errors: model_error naming a tensor whose rows such files do not have as a module.
std::vector<NewPair> convert_pairs(const AdapterFile& file, const AdapterPlan& plan,
                                   const AdapterTargets& targets, Naming naming,
                                   std::string_view prefix);

/// Returns the matrices in the format that they all have, or in F32.
std::vector<AdapterMatrix> in_one_format(std::vector<AdapterMatrix> matrices);

/// Multiplies a matrix by `factor`, rounded to F32. The matrix keeps its format if this changes no
/// product, and gets F32 otherwise. `file` and `tensor` name it in errors.
///
/// Errors: model_error if a product is too large for F32.
AdapterMatrix multiplied(const AdapterMatrix& m, double factor, const std::string& file,
                         std::string_view tensor);

}  // namespace ingot
