// FirstError: keeps the error of the item with the lowest number in a parallel loop.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "base/error.h"

namespace ingot {

/// Keeps the error of the item with the lowest number in a parallel loop. So the reported error
/// does not depend on the number of threads or their order.
class FirstError {
 public:
  /// Keeps the error of `item` if no lower item has an error. Any thread may call it.
  void keep(std::int64_t item, const Error& error) {
    const std::lock_guard lock(mutex_);
    if (!error_ || item < item_) {
      item_ = item;
      error_.emplace(error);
    }
  }
  /// Returns the kept error, or null if there was no error. Call it after the loop.
  const Error* error() const { return error_ ? &*error_ : nullptr; }
  std::int64_t item() const { return item_; }

 private:
  std::mutex mutex_;
  std::int64_t item_ = 0;
  std::optional<Error> error_;
};

}  // namespace ingot
