// HostRows: rows of a step's results in device memory, as the host reads and overwrites them.
#pragma once

#include <cstdint>
#include <span>

#include "backend/backend.h"

namespace ingot {

/// Rows of floats in device memory. Where the host may touch that memory, it uses the rows in
/// place; else `fetch` copies them to host memory after a step.
class HostRows {
 public:
  HostRows() = default;
  /// Shapes: rows [R, n], without gaps; device memory that outlives this. Errors:
  /// Error{kDoesNotFit}.
  HostRows(const Backend& backend, View rows);

  /// Rows [0, count) on the device, where a step writes them.
  View device(std::int64_t count) const { return rows_.slice(0, count); }
  /// Makes rows [first, first + count) available to the host as the last step wrote them.
  void fetch(const Backend& backend, std::int64_t first, std::int64_t count);
  /// Row `i`, [n], once it is fetched.
  std::span<float> row(std::int64_t i) const {
    return {host_ + i * rows_.cols, static_cast<std::size_t>(rows_.cols)};
  }

 private:
  View rows_;
  Buffer copy_;  ///< none where the host uses the rows in place
  float* host_ = nullptr;
};

}  // namespace ingot
