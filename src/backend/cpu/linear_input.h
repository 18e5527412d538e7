// LinearInput: quantised rows of activations, as linears over block formats read them.
#pragma once

#include <cstdint>

#include "backend/cpu/kernel_table.h"

namespace ingot {

/// Quantised rows of K activations in the layouts of a kernel table; does not own their memory.
struct LinearInput {
  QuantisedGroup* q = nullptr;    ///< [tiles of T, K / 32]; null where the matrix is enough
  MatrixGroup* matrix = nullptr;  ///< [T / 16, K / 32]; null where no kernel reads it
  std::int64_t groups = 0;        ///< K / 32

  /// The rows from `row` on, which begins a tile and, where there is a matrix, 16 rows.
  LinearInput from(std::int64_t row) const;
  /// This memory for rows of `count` groups.
  LinearInput of_groups(std::int64_t count) const {
    return {.q = q, .matrix = matrix, .groups = count};
  }
  /// Quantises x, whole groups of float rows, as those of rows `row`, `row` + 1, ... from group
  /// `first` on.
  void write_rows(const KernelTable& table, View x, std::int64_t row, std::int64_t first) const;
  /// Quantises x [cols], whole groups, as those of `row` from group `first` on.
  void write(const KernelTable& table, std::int64_t row, std::int64_t first, const float* x,
             std::int64_t cols) const;
  /// Copies row `from_row` of `from` to row `row`, of equal groups; both have `q`.
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
