// LinearInput: rows of activations as linears over block formats read them.
#pragma once

#include <cstdint>

#include "backend/cpu/kernel_table.h"

namespace ingot {

/// Quantised rows of K activations in the layouts of a kernel table, in memory of others.
struct LinearInput {
  QuantisedGroup* q = nullptr;    ///< [tiles of T, K / 32]; null where the matrix is enough
  MatrixGroup* matrix = nullptr;  ///< [T / 16, K / 32]; null where no kernel reads it
  std::int64_t groups = 0;        ///< K / 32

  /// The rows from `row` on, the first of a tile and, where there is a matrix, of 16.
  LinearInput from(std::int64_t row) const;
  /// The same memory for rows of so many groups.
  LinearInput of_groups(std::int64_t count) const {
    return {.q = q, .matrix = matrix, .groups = count};
  }
  /// Quantises x, whole groups of float rows, as those of rows `row`, `row` + 1, ... from group
  /// `first` on.
  void write_rows(const KernelTable& table, View x, std::int64_t row, std::int64_t first) const;
  /// Quantises x [cols], whole groups, as those of `row` from group `first` on.
  void write(const KernelTable& table, std::int64_t row, std::int64_t first, const float* x,
             std::int64_t cols) const;
  /// Makes row `row` a copy of row `from_row` of `from`, as long as it; neither is without `q`.
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
