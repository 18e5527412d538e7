// View: pointer, shape and format of a matrix in memory that it does not own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/check.h"

namespace ingot {

/// How the numbers of a matrix are stored; quant/formats.h has the values.
enum class Format : std::uint8_t;

/// A row-major matrix in memory that it does not own. Passed by value; never outlives the call.
///
/// Shapes: [rows, cols]; a vector has one row.
/// Units:  row_bytes is the distance from one row to the next; a row of a block format holds cols /
///         block weight blocks.
struct View {
  std::byte* data = nullptr;
  Format format{};
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t row_bytes = 0;

  explicit operator bool() const { return data != nullptr; }

  std::byte* row_data(std::int64_t r) const { return data + r * row_bytes; }
  /// Row `r` as an array of T; the caller knows that T is the format's storage type.
  template <class T>
  T* row(std::int64_t r) const {
    return reinterpret_cast<T*>(row_data(r));
  }
  /// `count` rows from row `first`.
  View slice(std::int64_t first, std::int64_t count) const {
    INGOT_CHECK(first >= 0 && count >= 0 && count <= rows && first <= rows - count, "rows ", first,
                " + ", count, " of ", rows);
    return {row_data(first), format, count, cols, row_bytes};
  }
};

/// Columns [first, first + count) of float32 rows.
inline View columns(const View& rows, std::int64_t first, std::int64_t count) {
  INGOT_CHECK(first >= 0 && count >= 0 && count <= rows.cols && first <= rows.cols - count,
              "columns ", first, " + ", count, " of ", rows.cols);
  return {rows.data + first * static_cast<std::int64_t>(sizeof(float)), rows.format, rows.rows,
          count, rows.row_bytes};
}

/// A View of float32 rows without gaps. Format 0 is F32 (quant/f32.h asserts it).
inline View f32_view(float* data, std::int64_t rows, std::int64_t cols) {
  return {reinterpret_cast<std::byte*>(data), Format{0}, rows, cols,
          cols * static_cast<std::int64_t>(sizeof(float))};
}

}  // namespace ingot
