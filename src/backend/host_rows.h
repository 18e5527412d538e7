// HostRows: gives the host access to result rows of a step that lie in device memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "base/index.h"

namespace ingot {

/// Rows without gaps to copy to the host by Backend::fetch.
struct RowFetch {
  View rows;             ///< [n, m]
  std::span<float> out;  ///< [n * m]
};

/// Rows of floats in device memory. If the host can access this memory, it uses the rows in
/// place; else steps copy them to host memory.
class HostRows {
 public:
  HostRows() = default;
  /// Uses `rows`, [R, n] without gaps in device memory. This memory outlives this object.
  /// Errors: Error{kDoesNotFit}.
  HostRows(const Backend& backend, View rows);

  /// Returns rows [0, count) in device memory. A step writes its results to these rows.
  View device(std::int64_t count) const { return rows_.slice(0, count); }
  /// Appends the copy that makes rows [first, first + count) available to the host after a step.
  /// Appends none if there are no rows or the host uses the rows in place.
  void add_fetch(std::int64_t first, std::int64_t count, std::vector<RowFetch>& copies) const;
  /// Returns the n floats of row `i`, for which `add_fetch` was called.
  std::span<float> row(std::int64_t i) const {
    return {host_ + i * rows_.cols, to_size(rows_.cols)};
  }

 private:
  View rows_;
  Buffer copy_;  ///< host copy; empty if the host uses the rows in place
  float* host_ = nullptr;
};

}  // namespace ingot
