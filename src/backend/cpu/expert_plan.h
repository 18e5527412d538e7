// ExpertPlan: which rows of a mixture of experts go to which expert, and in which waves.
#pragma once

#include <cstdint>
#include <span>

namespace ingot {

/// An expert's rows. Routed rows are numbered by expert, through all experts.
struct ExpertRows {
  std::int32_t first = 0;  ///< its first routed row
  std::int32_t count = 0;
  std::int32_t q_first = 0;  ///< its first row among the wave's quantised rows
};

/// Neighbouring experts whose rows pass gate, up and down together.
struct ExpertWave {
  std::int32_t expert = 0;  ///< experts [expert, end_expert)
  std::int32_t end_expert = 0;
  std::int32_t row = 0;  ///< routed rows [row, end_row)
  std::int32_t end_row = 0;

  std::int32_t rows() const { return end_row - row; }
};

/// Memory of an ExpertPlan, which its owner allocates.
struct ExpertPlanMemory {
  std::span<std::int32_t> routed_rows;  ///< [T * k]
  std::span<std::int32_t> pairs;        ///< [T * k]
  std::span<ExpertRows> experts;        ///< [E]
};

/// Sorts the rows of a mixture by expert and cuts the experts into waves.
///
/// A pair is a row with one of its k chosen experts, number row * k + rank; the routed rows are the
/// pairs sorted by expert. Expert e's rows are neighbours in their old order.
class ExpertPlan {
 public:
  ExpertPlan() = default;
  /// A wave has at most `wave_rows` routed rows, or one expert. The quantised rows of each expert
  /// begin at a multiple of `rows_together`.
  ExpertPlan(const ExpertPlanMemory& memory, std::int64_t wave_rows, std::int32_t rows_together)
      : memory_(memory), wave_rows_(wave_rows), rows_together_(rows_together) {}

  /// Sorts pairs by their experts, chosen[pair]; allocates nothing.
  ///
  /// Shapes: chosen [T * k], each in [0, experts).
  void sort(std::span<const std::int32_t> chosen, std::int32_t experts);
  /// The wave that begins with `expert`; numbers the quantised rows of its experts.
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
  /// Routed row `row` of `expert` among the quantised rows of the wave that was cut last.
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
