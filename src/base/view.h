// View: a non-owning reference to a matrix: pointer, shape and format.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/check.h"

namespace ingot {

/// The format in which a matrix stores its numbers. quant/formats.h lists all formats.
enum class Format : std::uint8_t;

/// A row-major matrix in memory that the View does not own. Pass it by value.
///
/// Shapes: [rows, cols]; a vector has one row.
/// Units:  row_bytes is the distance from one row to the next in bytes. A row of a quantised format
///         has `cols` weights in whole weight blocks.
struct View {
  std::byte* data = nullptr;
  Format format{};
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t row_bytes = 0;

  explicit operator bool() const { return data != nullptr; }

  std::byte* row_data(std::int64_t r) const { return data + r * row_bytes; }
  /// Returns row `r` as an array of T. T must be the storage type of the format.
  template <class T>
  T* row(std::int64_t r) const {
    return reinterpret_cast<T*>(row_data(r));
  }
  /// Returns the rows [first, first + count).
  View slice(std::int64_t first, std::int64_t count) const {
    INGOT_CHECK(first >= 0 && count >= 0 && count <= rows && first <= rows - count, "rows ", first,
                " + ", count, " of ", rows);
    return {row_data(first), format, count, cols, row_bytes};
  }
};

/// Returns the columns [first, first + count) of a float32 matrix.
inline View columns(const View& rows, std::int64_t first, std::int64_t count) {
  INGOT_CHECK(first >= 0 && count >= 0 && count <= rows.cols && first <= rows.cols - count,
              "columns ", first, " + ", count, " of ", rows.cols);
  return {rows.data + first * static_cast<std::int64_t>(sizeof(float)), rows.format, rows.rows,
          count, rows.row_bytes};
}

/// Makes a View of float32 rows without gaps. Its format is 0: quant/f32.h asserts that F32 is 0.
inline View f32_view(float* data, std::int64_t rows, std::int64_t cols) {
  return {reinterpret_cast<std::byte*>(data), Format{0}, rows, cols,
          cols * static_cast<std::int64_t>(sizeof(float))};
}

}  // namespace ingot
