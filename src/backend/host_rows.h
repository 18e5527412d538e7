// HostRows: gives the host access to result rows of a step that lie in device memory.
#pragma once

#include <cstdint>
#include <span>

#include "backend/backend.h"
#include "base/index.h"

namespace ingot {

/// Rows of floats in device memory. If the host can access this memory, it uses the rows in
/// place; else `fetch` copies them to host memory after a step.
class HostRows {
 public:
  HostRows() = default;
  /// Uses `rows`, [R, n] without gaps in device memory. This memory outlives this object.
  /// Errors: Error{kDoesNotFit}.
  HostRows(const Backend& backend, View rows);

  /// Returns rows [0, count) in device memory. The next step writes its results to these rows.
  View device(std::int64_t count) const { return rows_.slice(0, count); }
  /// Makes rows [first, first + count) of the last step available to the host.
  void fetch(const Backend& backend, std::int64_t first, std::int64_t count);
  /// Returns the n floats of row `i`. Call `fetch` for this row first.
  std::span<float> row(std::int64_t i) const {
    return {host_ + i * rows_.cols, to_size(rows_.cols)};
  }

 private:
  View rows_;
  Buffer copy_;  ///< host copy; empty if the host uses the rows in place
  float* host_ = nullptr;
};

}  // namespace ingot
