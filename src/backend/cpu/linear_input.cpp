// LinearInput: quantises rows, a whole tile at once if the kernel table supports this, and rounds
// rows to bfloat16.
#include "backend/cpu/linear_input.h"

namespace ingot {

LinearInput LinearInput::from(std::int64_t row) const {
  return {
      .q = tile_of(row), .matrix = matrix_of(row), .rounded = rounded_of(row), .groups = groups};
}

void LinearInput::write(const KernelTable& table, std::int64_t row, std::int64_t first,
                        const float* x, std::int64_t cols) const {
  if (q != nullptr || matrix != nullptr) {
    table.quantise(x, cols, static_cast<int>(row % kMatrixRows),
                   q == nullptr ? nullptr : tile_of(row) + first,
                   matrix == nullptr ? nullptr : matrix_of(row) + first);
  }
  round(table, row, first, x, cols);
}

void LinearInput::round(const KernelTable& table, std::int64_t row, std::int64_t first,
                        const float* x, std::int64_t cols) const {
  for (std::int64_t g = 0; rounded != nullptr && g < cols / kGroup; ++g) {
    table.round(x + g * kGroup, kGroup, rounded_of(row)[first + g].x[row % kMatrixRows]);
  }
}

void LinearInput::write_rows(const KernelTable& table, View x, std::int64_t row,
                             std::int64_t first) const {
  const bool by_tiles = table.quantise_tile != nullptr && q != nullptr && matrix == nullptr;
  for (std::int64_t t = 0; t < x.rows;) {
    if (by_tiles && (row + t) % kTileRows == 0 && t + kTileRows <= x.rows) {
      table.quantise_tile(x.row<const float>(t), x.row_bytes / std::int64_t{sizeof(float)}, x.cols,
                          tile_of(row + t) + first);
      for (const std::int64_t end = t + kTileRows; t < end; ++t) {
        round(table, row + t, first, x.row<const float>(t), x.cols);
      }
    } else {
      write(table, row + t, first, x.row<const float>(t), x.cols);
      ++t;
    }
  }
}

void LinearInput::copy(std::int64_t row, const LinearInput& from, std::int64_t from_row) const {
  if (q != nullptr && from.q != nullptr) copy_quantised(row, from, from_row);
  // Few rows are not rounded, and experts do not read them.
  for (std::int64_t g = 0; rounded != nullptr && from.rounded != nullptr && g < groups; ++g) {
    const auto& x = from.rounded_of(from_row)[g].x[from_row % kMatrixRows];
    __builtin_memcpy(rounded_of(row)[g].x[row % kMatrixRows], x, sizeof x);
  }
}

void LinearInput::copy_quantised(std::int64_t row, const LinearInput& from,
                                 std::int64_t from_row) const {
  static_assert(sizeof(QuantisedGroup) % (4 * kTileRows) == 0);
  constexpr std::int64_t kPlanes = sizeof(QuantisedGroup) / (4 * kTileRows);
  const auto* x = reinterpret_cast<const std::byte*>(from.tile_of(from_row));
  auto* y = reinterpret_cast<std::byte*>(tile_of(row));
  x += 4 * (from_row % kTileRows);
  y += 4 * (row % kTileRows);
  for (std::int64_t i = 0; i < groups * kPlanes; ++i) {
    __builtin_memcpy(y + i * 4 * kTileRows, x + i * 4 * kTileRows, 4);
  }
  for (std::int64_t g = 0; matrix != nullptr && g < groups; ++g) {
    const MatrixGroup& a = from.matrix_of(from_row)[g];
    MatrixGroup& b = matrix_of(row)[g];
    const std::int64_t r = from_row % kMatrixRows;
    const std::int64_t to = row % kMatrixRows;
    __builtin_memcpy(b.q[to], a.q[r], sizeof a.q[r]);
    b.d[to] = a.d[r];
    b.minus_sum_float[to] = a.minus_sum_float[r];
    b.bits_minus_128_sum[to] = a.bits_minus_128_sum[r];
  }
}

}  // namespace ingot
