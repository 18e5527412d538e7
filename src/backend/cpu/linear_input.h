// LinearInput: rows of activations, quantised or rounded, as linear kernels read them.
#pragma once

#include <cstdint>

#include "backend/cpu/kernel_table.h"

namespace ingot {

/// Rows of K activations in the layouts that kernels read beside float32. Does not own memory.
struct LinearInput {
  QuantisedGroup* q = nullptr;     ///< [row tiles, K / 32]; null if kernels read only `matrix`
  MatrixGroup* matrix = nullptr;   ///< [T / 16, K / 32]; null if no kernel reads it
  RoundedTile* rounded = nullptr;  ///< [T / 16, K / 32]; null if no kernel reads it
  std::int64_t groups = 0;         ///< groups in a row: K / 32

  /// Returns the rows from `row` on. `row` is a multiple of kTileRows; of 16 with `matrix` or
  /// `rounded`.
  LinearInput from(std::int64_t row) const;
  /// Returns a LinearInput in the same memory, for rows with `count` groups.
  LinearInput of_groups(std::int64_t count) const {
    return {.q = q, .matrix = matrix, .rounded = rounded, .groups = count};
  }
  /// Whether there is a layout to write.
  explicit operator bool() const { return q != nullptr || matrix != nullptr || rounded != nullptr; }
  /// Writes the float rows of x to rows `row`, `row` + 1, ..., beginning at group `first`. The
  /// width of x is a multiple of 32.
  void write_rows(const KernelTable& table, View x, std::int64_t row, std::int64_t first) const;
  /// Writes x [cols] to row `row`, beginning at group `first`. `cols` is a multiple of 32.
  void write(const KernelTable& table, std::int64_t row, std::int64_t first, const float* x,
             std::int64_t cols) const;
  /// Copies row `from_row` of `from` to row `row`. Both inputs have equal layouts and `groups`.
  void copy(std::int64_t row, const LinearInput& from, std::int64_t from_row) const;

 private:
  /// Rounds x to row `row` of `rounded`, if that is not null.
  void round(const KernelTable& table, std::int64_t row, std::int64_t first, const float* x,
             std::int64_t cols) const;
  void copy_quantised(std::int64_t row, const LinearInput& from, std::int64_t from_row) const;
  QuantisedGroup* tile_of(std::int64_t row) const {
    return q == nullptr ? nullptr : q + row / kTileRows * groups;
  }
  MatrixGroup* matrix_of(std::int64_t row) const {
    return matrix == nullptr ? nullptr : matrix + row / kMatrixRows * groups;
  }
  RoundedTile* rounded_of(std::int64_t row) const {
    return rounded == nullptr ? nullptr : rounded + row / kMatrixRows * groups;
  }
};

}  // namespace ingot
