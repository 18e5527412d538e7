// Weight: a matrix that a backend has prepared for its device.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/buffer.h"
#include "base/view.h"

namespace ingot {

/// Consecutive rows of a Weight that share a format.
struct Segment {
  Format format{};
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
  std::int64_t panels = 0;       ///< ceil(rows / 16); the backend's layout
  std::int64_t panel_bytes = 0;  ///< of one panel
  const std::byte* data = nullptr;
};

/// A tensor with its memory.
struct Tensor {
  Buffer buffer;
  View view;
  explicit operator bool() const { return static_cast<bool>(view); }
};

/// y = W x + b as `Backend::prepare` made it: packed once for its device, immutable, movable.
///
/// Real files mix formats inside q, k, v, so a matrix is a list of row segments; neighbours of
/// equal format are one. `linear` writes each segment at its columns of the output.
struct Weight {
  std::int64_t rows = 0;  ///< outputs
  std::int64_t cols = 0;  ///< inputs, K
  std::vector<Segment> segments;
  Tensor bias;  ///< [1, rows] float32, or none
  Buffer storage;

  explicit operator bool() const { return rows != 0; }
  /// Whether some of it is in a block format, whose linear reads quantised rows.
  bool has_blocks() const;
  /// Whether some of it is in a dense format, whose linear reads floats.
  bool has_dense() const;
};

}  // namespace ingot
