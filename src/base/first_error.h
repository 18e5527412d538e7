// FirstError: one error of a loop that runs on many threads.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "base/error.h"

namespace ingot {

/// The error of the lowest item, of items that run at once and in any order: the same whatever the
/// number of threads.
class FirstError {
 public:
  /// From any thread.
  void keep(std::int64_t item, const Error& error) {
    const std::lock_guard lock(mutex_);
    if (!error_ || item < item_) {
      item_ = item;
      error_.emplace(error);
    }
  }
  /// After the loop; null where there was none.
  const Error* error() const { return error_ ? &*error_ : nullptr; }
  std::int64_t item() const { return item_; }

 private:
  std::mutex mutex_;
  std::int64_t item_ = 0;
  std::optional<Error> error_;
};

}  // namespace ingot
