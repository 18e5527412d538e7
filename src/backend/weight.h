// Weight: a matrix that a backend packed for its device.
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
  std::int64_t units = 0;  ///< pieces of equal size in the backend's layout; on the CPU panels
  std::int64_t unit_bytes = 0;
  const std::byte* data = nullptr;  ///< device memory
};

/// A tensor with its memory.
struct Tensor {
  Buffer buffer;
  View view;
  explicit operator bool() const { return static_cast<bool>(view); }
};

/// y = W x + b as `Backend::prepare` packed it: immutable, movable.
///
/// Real files mix formats inside q, k, v, so a matrix is a list of row segments; neighbours of
/// equal format form one. `linear` writes each segment at its columns of the output.
struct Weight {
  std::int64_t rows = 0;  ///< outputs
  std::int64_t cols = 0;  ///< inputs, K
  std::vector<Segment> segments;
  Tensor bias;  ///< [1, rows] float32, or none
  Buffer storage;

  explicit operator bool() const { return rows != 0; }
  /// Whether a segment has a block format, whose linear reads quantised rows.
  bool has_blocks() const;
  /// Whether a segment has a dense format, whose linear reads floats.
  bool has_dense() const;
};

}  // namespace ingot
