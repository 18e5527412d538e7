// StepCost: the least bytes and operations of a step on any backend.
#pragma once

#include <cstdint>
#include <span>

#include "model/model.h"

namespace ingot {

/// One sequence's rows in a step: its keys kv_len - rows .. kv_len - 1.
struct SequenceRows {
  std::int64_t rows = 0;
  std::int64_t kv_len = 0;   ///< after the step
  std::int64_t outputs = 0;  ///< rows that go through the output head
};

/// How one layer stores keys and values.
struct KvCost {
  std::int64_t token_bytes = 0;  ///< one token's keys and values
  bool integers = false;         ///< KvType::kInt8: products are of 8-bit integers
};

/// A step's least cost. Counts are exact up to 2^53.
struct StepCost {
  double bytes = 0;     ///< bytes read
  double int8_ops = 0;  ///< products and sums of block-format linears and of attention over kInt8
  double f32_ops = 0;   ///< products and sums of dense linears and of attention over floats

  StepCost& operator+=(const StepCost& other);
  double ops() const { return int8_ops + f32_ops; }
};

/// The cost of one step over `parts`.
///
/// Bytes: every weight once, as the backend holds it. The embedding counts with the rows looked up,
/// or not at all when the step reads it as its head. min(E, T * k) of E experts count, as if no two
/// rows chose the same one. The keys and values that any row of a sequence sees count once for each
/// sequence and layer.
/// Operations: 2 M K for each row of a linear, with k experts in a mixture; in attention 4 D for
/// each query head and each pair of a row and a key that it sees. Norms, rotations and activations
/// do not count.
///
/// Shapes: kv [layers].
StepCost step_cost(const Model& model, std::span<const KvCost> kv,
                   std::span<const SequenceRows> parts);

}  // namespace ingot
