// StepCost: lower bounds of the bytes that a step reads and of its arithmetic operations.
#pragma once

#include <cstdint>
#include <span>

#include "model/model.h"

namespace ingot {

/// One sequence's rows in a step. They are at positions kv_len - rows to kv_len - 1.
struct SequenceRows {
  std::int64_t rows = 0;
  std::int64_t kv_len = 0;   ///< number of the sequence's keys after the step
  std::int64_t outputs = 0;  ///< number of rows that go through the output head
};

/// How one layer stores keys and values.
struct KvCost {
  std::int64_t token_bytes = 0;  ///< bytes of one token's keys and values
  bool integers = false;         ///< whether attention multiplies 8-bit integers (KvType::kInt8)
};

/// Lower bound of a step's cost. Counts are doubles, exact up to 2^53.
struct StepCost {
  double bytes = 0;     ///< bytes read
  double int8_ops = 0;  ///< operations of matrices in block formats, and of kInt8 attention
  double f32_ops = 0;   ///< operations of matrices in dense formats, and of float attention

  StepCost& operator+=(const StepCost& other);
  double ops() const { return int8_ops + f32_ops; }
};

/// Computes the cost of one step over `parts`.
///
/// Bytes: every packed weight counts once. The embedding counts only with the rows looked up, or
/// not at all if the step reads the whole matrix as the tied head. If T rows choose k of E experts
/// each, then min(E, T * k) experts count, as if no two rows shared an expert. Keys and values
/// count once per sequence and layer, if a row of the sequence sees them.
///
/// Operations: 2 M K per row for an [M, K] matrix, and for each of k experts. In attention, 4 D per
/// query head per row and key that the row sees. Norms, rotations and activations do not count.
///
/// Shapes: `kv` has one element for each loaded layer.
StepCost step_cost(const Model& model, std::span<const KvCost> kv,
                   std::span<const SequenceRows> parts);

}  // namespace ingot
