// HostRows: gives the host access to result rows of a step that lie in device memory.
#pragma once

#include <cstdint>
#include <span>

#include "backend/backend.h"

namespace ingot {

/// Rows of floats in device memory. If the host can access this memory, it uses the rows in
/// place; else `fetch` copies them to host memory after a step.
class HostRows {
 public:
  HostRows() = default;
  /// Shapes: rows [R, n] in device memory, without gaps. `rows` outlives this object.
  /// Errors: Error{kDoesNotFit}.
  HostRows(const Backend& backend, View rows);

  /// Rows [0, count) in device memory, for a step to write.
  View device(std::int64_t count) const { return rows_.slice(0, count); }
  /// Makes rows [first, first + count) of the last step available to the host.
  void fetch(const Backend& backend, std::int64_t first, std::int64_t count);
  /// Row `i`, [n] floats. Call `fetch` for the row first.
  std::span<float> row(std::int64_t i) const {
    return {host_ + i * rows_.cols, static_cast<std::size_t>(rows_.cols)};
  }

 private:
  View rows_;
  Buffer copy_;  ///< host copy; empty if the host uses the rows in place
  float* host_ = nullptr;
};

}  // namespace ingot
