// LinearInput: quantised rows of activations, the input of linears with block formats.
#pragma once

#include <cstdint>

#include "backend/cpu/kernel_table.h"

namespace ingot {

/// Quantised rows of K activations in one or both layouts that kernels read. Does not own memory.
struct LinearInput {
  QuantisedGroup* q = nullptr;    ///< [row tiles, K / 32]; null if kernels read only `matrix`
  MatrixGroup* matrix = nullptr;  ///< [T / 16, K / 32]; null if no kernel reads it
  std::int64_t groups = 0;        ///< groups in a row: K / 32

  /// Returns the rows from `row` on. `row` is a multiple of kTileRows, or of 16 with a `matrix`.
  LinearInput from(std::int64_t row) const;
  /// Returns a LinearInput in the same memory, for rows with `count` groups.
  LinearInput of_groups(std::int64_t count) const {
    return {.q = q, .matrix = matrix, .groups = count};
  }
  /// Quantises the float rows of x into rows `row`, `row` + 1, ..., beginning at group `first`. The
  /// width of x is a multiple of 32.
  void write_rows(const KernelTable& table, View x, std::int64_t row, std::int64_t first) const;
  /// Quantises x [cols] into row `row`, beginning at group `first`. `cols` is a multiple of 32.
  void write(const KernelTable& table, std::int64_t row, std::int64_t first, const float* x,
             std::int64_t cols) const;
  /// Copies row `from_row` of `from` to row `row`. Both inputs have `q` and equal `groups`.
  void copy(std::int64_t row, const LinearInput& from, std::int64_t from_row) const;

 private:
  QuantisedGroup* tile_of(std::int64_t row) const {
    return q == nullptr ? nullptr : q + row / kTileRows * groups;
  }
  MatrixGroup* matrix_of(std::int64_t row) const {
    return matrix == nullptr ? nullptr : matrix + row / kMatrixRows * groups;
  }
};

}  // namespace ingot
