// ExpertPlan: sorts the rows of a mixture of experts by expert, and cuts the work into waves.
#pragma once

#include <cstdint>
#include <span>

#include "base/index.h"

namespace ingot {

/// The rows of one expert. Routed rows are numbered across all experts, expert by expert.
struct ExpertRows {
  std::int32_t first = 0;  ///< index of the expert's first routed row
  std::int32_t count = 0;
  std::int32_t q_first = 0;  ///< index of the expert's first row in the wave's quantised rows
};

/// Consecutive experts, computed together: first their gate and up linears, then the down linears.
struct ExpertWave {
  std::int32_t expert = 0;  ///< the experts are [expert, end_expert)
  std::int32_t end_expert = 0;
  std::int32_t row = 0;  ///< the routed rows are [row, end_row)
  std::int32_t end_row = 0;

  std::int32_t rows() const { return end_row - row; }
};

/// Memory of an ExpertPlan for T rows that choose k of E experts each. The caller allocates it.
struct ExpertPlanMemory {
  std::span<std::int32_t> routed_rows;  ///< [T * k] index of each pair's routed row
  std::span<std::int32_t> pairs;        ///< [T * k] number of each routed row's pair
  std::span<ExpertRows> experts;        ///< [E] rows of each expert
};

/// Sorts the rows of a mixture of experts by expert, and cuts the experts into waves.
///
/// A pair is a row with one of its k chosen experts. A pair's number is row * k + rank. Routed rows
/// are the pairs, sorted by expert; rows of one expert keep their order.
class ExpertPlan {
 public:
  ExpertPlan() = default;
  /// A wave has at most `wave_rows` routed rows. A wave with rows of only one expert may have more.
  /// In a wave, each expert's quantised rows begin at a multiple of `rows_together`.
  ExpertPlan(const ExpertPlanMemory& memory, std::int64_t wave_rows, std::int32_t rows_together)
      : memory_(memory), wave_rows_(wave_rows), rows_together_(rows_together) {}

  /// Sorts the pairs by expert. chosen[pair] is the expert of a pair. Allocates no memory.
  ///
  /// Shapes: chosen [T * k], each in [0, experts).
  void sort(std::span<const std::int32_t> chosen, std::int32_t experts);
  /// Returns the wave that begins with `expert`. Sets ExpertRows::q_first of the wave's experts.
  ExpertWave wave_from(std::int32_t expert);

  const ExpertRows& rows_of(std::int32_t expert) const { return at(memory_.experts, expert); }
  std::int32_t routed_row(std::int64_t pair) const { return at(memory_.routed_rows, pair); }
  std::int32_t pair(std::int64_t routed_row) const { return at(memory_.pairs, routed_row); }
  /// Returns the index of routed row `row` of `expert` in the quantised rows of the latest wave.
  std::int64_t quantised_row(std::int32_t expert, std::int64_t row) const {
    return rows_of(expert).q_first + row - rows_of(expert).first;
  }

 private:
  ExpertPlanMemory memory_;
  std::int64_t wave_rows_ = 1;
  std::int32_t rows_together_ = 1;
  std::int32_t experts_ = 0;
};

}  // namespace ingot
