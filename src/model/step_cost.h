// StepCost: lower bounds of how many bytes a step reads and how many operations it computes.
#pragma once

#include <cstdint>
#include <span>

#include "backend/adapter.h"
#include "model/model.h"

namespace ingot {

/// One sequence's rows in a step. The rows are at positions kv_len - rows to kv_len - 1.
struct SequenceRows {
  std::int64_t rows = 0;
  std::int64_t kv_len = 0;                 ///< number of the sequence's keys after the step
  std::int64_t outputs = 0;                ///< number of rows that go through the output head
  std::span<const AdapterUse> adapters{};  ///< the adapters of all rows
};

/// How one layer stores keys and values.
struct KvCost {
  std::int64_t token_bytes = 0;  ///< bytes of one token's keys and values
  KvType type = KvType::kF16;
};

/// Lower bound of a step's cost. Counts are doubles, exact up to 2^53.
struct StepCost {
  double bytes = 0;     ///< bytes that the step reads
  double int8_ops = 0;  ///< operations of linears in block formats, and of kInt8 attention
  double bf16_ops = 0;  ///< operations of linears in BF16, and of kBF16 attention
  double f32_ops = 0;   ///< operations of linears in F32 and F16, of kF32 and kF16 attention

  StepCost& operator+=(const StepCost& other);
  double ops() const { return int8_ops + bf16_ops + f32_ops; }
};

/// Computes the cost of one step over `parts`.
///
/// Bytes: every packed weight counts once. Only the looked-up rows of the embedding count; if the
/// tied head counts, the embedding does not count again. If T rows choose k of E experts each, then
/// min(E, T * k) experts count, as if rows shared no expert. Keys and values of a sequence count
/// once per layer, if a row of the sequence sees them.
///
/// An adapter's matrices count as others: bytes once for each adapter of the step, those of experts
/// for the share of the experts that its rows choose.
///
/// Routers and adapters in BF16 count as F32, because their products are in float32.
///
/// Operations: each [M, K] matrix, also of a chosen expert, costs 2 * M * K per row. Each key that
/// a row sees costs 2 * (head_dim + value_dim) per query head. Norms, rotations and activations
/// cost nothing.
///
/// Shapes: `kv` has one element for each loaded layer.
StepCost step_cost(const Model& model, std::span<const KvCost> kv,
                   std::span<const SequenceRows> parts);

}  // namespace ingot
