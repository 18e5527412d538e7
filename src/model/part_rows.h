// BoundPart: rows of a weight as a tensor stores them, and how to read them in another order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "load/checkpoint.h"

namespace ingot {

/// Rows of a weight that one tensor stores. The tensor is read as a matrix of `stored_cols`
/// columns.
///
/// A plain part is the stored rows first_row, first_row + row_step, ... A turned part has its
/// inputs as stored rows: its element (r, k) is the stored element
/// (first_row + k, first_col + r * row_step). A part with `scales` is MXFP4 as Hugging Face files
/// store it, in one tensor of codes and one of scales, and `first_row` counts rows of codes.
struct BoundPart {
  const TensorInfo* tensor = nullptr;
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t row_step = 1;
  bool turned = false;
  std::int64_t stored_cols = 0;  ///< only of a turned part; others store `cols` columns
  std::int64_t first_col = 0;    ///< only of a turned part
  const TensorInfo* scales = nullptr;

  /// Returns the format in which `read_part` gives the rows.
  Format format() const;
  /// Returns whether the rows are a view of the tensor's bytes.
  bool is_stored() const { return !turned && scales == nullptr; }
  /// Returns whether the part ends where the tensor ends.
  bool ends_tensor() const;
  /// Describes the part for the pack cache's key: tensor, position, layout.
  std::string described() const;
};

/// Rows of a part: a view of the file, or of `memory` if the file stores them in another order.
struct PartRows {
  View view;
  std::vector<std::byte> memory;
};

/// Reads a part. Stored rows are not copied.
PartRows read_part(const BoundPart& part);

/// Returns the bytes that `read_part` allocates.
std::int64_t part_memory_bytes(const BoundPart& part);

}  // namespace ingot
