// ExpertPlan: sorts the rows of a mixture of experts by expert, and cuts the work into waves.
#pragma once

#include <cstdint>
#include <span>

namespace ingot {

/// The rows of one expert. Routed rows are numbered across all experts, expert by expert.
struct ExpertRows {
  std::int32_t first = 0;  ///< number of the expert's first routed row
  std::int32_t count = 0;
  std::int32_t q_first = 0;  ///< index of the expert's first row in the wave's quantised rows
};

/// Consecutive experts that are computed together: first gate and up, then down.
struct ExpertWave {
  std::int32_t expert = 0;  ///< the experts are [expert, end_expert)
  std::int32_t end_expert = 0;
  std::int32_t row = 0;  ///< the routed rows are [row, end_row)
  std::int32_t end_row = 0;

  std::int32_t rows() const { return end_row - row; }
};

/// Memory of an ExpertPlan. The caller allocates it.
struct ExpertPlanMemory {
  std::span<std::int32_t> routed_rows;  ///< [T * k] number of each pair's routed row
  std::span<std::int32_t> pairs;        ///< [T * k] number of each routed row's pair
  std::span<ExpertRows> experts;        ///< [E] rows of each expert
};

/// Sorts the rows of a mixture of experts by expert, and cuts the experts into waves.
///
/// A pair is a row and one of its k chosen experts; its number is row * k + rank. Routed rows are
/// the pairs sorted by expert; rows of one expert keep their order.
class ExpertPlan {
 public:
  ExpertPlan() = default;
  /// A wave has at most `wave_rows` routed rows, or only rows of one expert. The quantised rows of
  /// each expert begin at a multiple of `rows_together`.
  ExpertPlan(const ExpertPlanMemory& memory, std::int64_t wave_rows, std::int32_t rows_together)
      : memory_(memory), wave_rows_(wave_rows), rows_together_(rows_together) {}

  /// Sorts the pairs by expert; chosen[pair] is a pair's expert. Allocates no memory.
  ///
  /// Shapes: chosen [T * k], each in [0, experts).
  void sort(std::span<const std::int32_t> chosen, std::int32_t experts);
  /// Cuts the wave that begins with `expert`, and sets ExpertRows::q_first of its experts.
  ExpertWave wave_from(std::int32_t expert);

  const ExpertRows& rows_of(std::int32_t expert) const {
    return memory_.experts[static_cast<std::size_t>(expert)];
  }
  std::int32_t routed_row(std::int64_t pair) const {
    return memory_.routed_rows[static_cast<std::size_t>(pair)];
  }
  std::int32_t pair(std::int64_t routed_row) const {
    return memory_.pairs[static_cast<std::size_t>(routed_row)];
  }
  /// Index of routed row `row` of `expert` in the quantised rows of the wave that was cut last.
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
