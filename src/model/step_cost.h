// What a step costs at the least: the bytes that it has to read and the operations that it has to
// do, whoever computes it.
#pragma once

#include <cstdint>
#include <span>

#include "model/model.h"

namespace ingot {

/// One sequence's rows in a step, as keys kv_len - rows .. kv_len - 1 of it.
struct SequenceRows {
  std::int64_t rows = 0;
  std::int64_t kv_len = 0;   ///< after the step
  std::int64_t outputs = 0;  ///< of the rows, those that go through the head
};

/// How one layer keeps keys and values.
struct KvCost {
  std::int64_t token_bytes = 0;  ///< of one token's keys and values
  bool integers = false;         ///< KvType::kInt8: products with them are of 8-bit integers
};

/// A step's least cost. Counts that double holds exactly up to 2^53.
struct StepCost {
  double bytes = 0;     ///< read
  double int8_ops = 0;  ///< products and sums of block-format linears, and of attention over kInt8
  double f32_ops = 0;   ///< those of dense formats and of attention over floats

  StepCost& operator+=(const StepCost& other);
  double ops() const { return int8_ops + f32_ops; }
};

/// The cost of one step over `parts`.
///
/// Bytes: every weight once, as the backend holds it; of the embedding only the rows looked up, or
/// nothing when the step reads it as its head; of E experts min(E, T * k), as if no two rows chose
/// alike; the keys and values that any row of a sequence sees, once a sequence and layer.
/// Operations: 2 M K a row of a linear, its k experts for a mixture; in attention 4 D for each
/// query head and pair of a row and a key that it sees. Norms, rotations and activations do not
/// count.
///
/// Shapes: kv [layers].
StepCost step_cost(const Model& model, std::span<const KvCost> kv,
                   std::span<const SequenceRows> parts);

}  // namespace ingot
