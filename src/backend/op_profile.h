// StepProfile: time that steps spent in each op, in each shape of linear, and in each layer.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "backend/batch.h"
#include "backend/moe_stages.h"
#include "base/index.h"

namespace ingot {

/// The ops of `Backend` that ProfiledBackend measures.
enum class OpKind : std::uint8_t {
  kEmbed,
  kNorm,
  kScale,
  kLinear,
  kLinearHeads,
  kRope,
  kKvWrite,
  kAttention,
  kActivate,
  kGlu,
  kAddGated,
  kMoe,
  kGather,
  kLogits,
  kPool,
  kNormalise,
};
inline constexpr std::size_t kOpKinds = 16;

/// Returns the name of an op in `Backend`, such as "kv_write".
std::string_view to_string(OpKind kind);

/// Seconds of each op, in the order of OpKind.
using OpSeconds = std::array<double, kOpKinds>;

/// Kinds of steps, by the number of rows that each sequence has.
enum class StepKind : std::uint8_t {
  kDecode,   ///< every sequence has exactly one row
  kPrefill,  ///< every sequence has several rows: chunks of prompts, or drafts to verify
  kMixed,
};
inline constexpr std::size_t kStepKinds = 3;

/// Returns the kind of the step that computes `batch`.
StepKind step_kind(const Batch& batch);

/// Totals of one op over all its calls.
struct OpTotals {
  std::int64_t calls = 0;
  std::int64_t rows = 0;
  double seconds = 0;

  OpTotals& operator+=(const OpTotals& other);
};

/// Totals of all linears with weights of one shape.
struct LinearTotals {
  std::int64_t outputs = 0;  ///< M, rows of the weight
  std::int64_t inputs = 0;   ///< K, columns of the weight
  OpTotals totals;
};

/// Totals over steps. The time of linears in `moe` or `logits` counts as time of `moe` or `logits`.
struct StepProfile {
  std::int64_t steps = 0;
  std::int64_t rows = 0;
  double seconds = 0;  ///< time of whole steps, including the time between ops
  std::array<OpTotals, kOpKinds> ops{};
  std::array<OpTotals, kMoeStages> moe{};  ///< totals of the stages of `moe`, which `ops` includes
  std::vector<LinearTotals> linears;  ///< totals for each weight shape, in the order of first calls
  std::vector<OpSeconds> layers;      ///< seconds in each layer, in the order of the layers

  const OpTotals& op(OpKind kind) const { return at(ops, kind); }
  /// Returns the total seconds within ops, at most `seconds`.
  double op_seconds() const;
  /// Returns the seconds of ops outside layers: before the first layer and after the last layer.
  OpSeconds outside_layers() const;
  /// Adds `linear` to the totals of its shape.
  void add_linear(const LinearTotals& linear);
  /// Adds the `seconds` that a step spent in layer `i`.
  void add_layer(std::size_t i, const OpSeconds& seconds);
  StepProfile& operator+=(const StepProfile& other);
};

}  // namespace ingot
