// StepProfile: seconds of steps by op, by shape of linear and by layer, as plain data.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "backend/batch.h"

namespace ingot {

/// The ops of `Backend` that steps are made of.
enum class OpKind : std::uint8_t {
  kEmbed,
  kNorm,
  kLinear,
  kRope,
  kKvWrite,
  kAttention,
  kActivate,
  kMoe,
  kGather,
  kLogits,
};
inline constexpr std::size_t kOpKinds = 10;

/// The op's name in Backend: "kv_write".
std::string_view to_string(OpKind kind);

/// Seconds by op, in the order of OpKind.
using OpSeconds = std::array<double, kOpKinds>;

/// Steps by the rows of their sequences.
enum class StepKind : std::uint8_t {
  kDecode,   ///< every sequence has one row
  kPrefill,  ///< no sequence has one row: chunks of prompts, and verifications of drafts
  kMixed,
};
inline constexpr std::size_t kStepKinds = 3;

/// The kind of a step.
StepKind step_kind(const Batch& batch);

/// Calls of an op, their rows and their time.
struct OpTotals {
  std::int64_t calls = 0;
  std::int64_t rows = 0;
  double seconds = 0;

  OpTotals& operator+=(const OpTotals& other);
};

/// Linears with weights of one shape.
struct LinearTotals {
  std::int64_t outputs = 0;  ///< M
  std::int64_t inputs = 0;   ///< K
  OpTotals totals;
};

/// Sums over steps. Linears of experts count as `moe`, those of `logits` as `logits`.
struct StepProfile {
  std::int64_t steps = 0;
  std::int64_t rows = 0;
  double seconds = 0;  ///< whole steps, with the time between ops and waits for threads
  std::array<OpTotals, kOpKinds> ops{};
  std::vector<LinearTotals> linears;  ///< in the order of their first calls
  std::vector<OpSeconds> layers;      ///< in the order of the layers that ran

  const OpTotals& op(OpKind kind) const { return ops[static_cast<std::size_t>(kind)]; }
  /// Seconds within ops: at most `seconds`.
  double op_seconds() const;
  /// Seconds of ops outside layers: before the first and after the last.
  OpSeconds outside_layers() const;
  /// Adds calls of a linear to the totals of its shape.
  void add_linear(const LinearTotals& linear);
  /// Counts a step's time in layer `i`.
  void add_layer(std::size_t i, const OpSeconds& seconds);
  StepProfile& operator+=(const StepProfile& other);
};

}  // namespace ingot
