// Weight: a weight matrix, packed by a backend for its device.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/buffer.h"
#include "base/view.h"

namespace ingot {

/// Consecutive rows of a Weight that share a format.
struct Segment {
  Format format{};
  /// Whether `linear` rounds its rows to bfloat16: see `rounds_rows`.
  bool rounds_rows = false;
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
  std::int64_t units = 0;  ///< number of units of unit_bytes each; on the CPU, a unit is a panel
  std::int64_t unit_bytes = 0;
  const std::byte* data = nullptr;  ///< the packed rows, in device memory
};

/// A tensor that owns its memory.
struct Tensor {
  Buffer buffer;
  View view;
  explicit operator bool() const { return static_cast<bool>(view); }
};

/// W and b of a linear layer y = W x + b, packed by `Backend::prepare`. Immutable, movable.
///
/// Model files may store q, k and v of a layer in different formats, so a matrix is a list of row
/// segments, each in one format. In the output of `linear`, each segment has its own columns.
struct Weight {
  std::int64_t rows = 0;  ///< number of outputs
  std::int64_t cols = 0;  ///< K, number of inputs
  std::vector<Segment> segments;
  Tensor bias;  ///< [1, rows] float32, or null
  Buffer storage;
  std::int32_t number = -1;  ///< number in its model, by which adapters find it; -1: none

  explicit operator bool() const { return rows != 0; }
  /// Returns whether any segment has a block format. If so, `linear` reads quantised rows.
  bool has_blocks() const;
  /// Returns whether any segment has a dense format. If so, `linear` reads float rows.
  bool has_dense() const;
  /// Returns whether `linear` rounds its rows to bfloat16 for any segment.
  bool rounds_rows() const;
};

}  // namespace ingot
