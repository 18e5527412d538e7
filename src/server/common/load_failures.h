// LoadFailures: remembers for seconds which adapters cannot be loaded, so that no request reads
// them again meanwhile.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "base/error.h"
#include "server/common/adapter_folder.h"

namespace ingot {

/// Failed loads of a folder's adapters. Not thread-safe.
class LoadFailures {
 public:
  using Clock = std::chrono::steady_clock;
  /// Time for which a failure counts. Files that are still being copied are tried again after it.
  static constexpr std::chrono::seconds kKept{5};

  /// Remembers the failure of an adapter in this state.
  void add(const std::string& name, const FolderState& state, const Error& error,
           Clock::time_point now);
  /// Returns the failure of an adapter; null if it is unknown or old, or of another state.
  const Error* find(const std::string& name, const FolderState& state, Clock::time_point now) const;
  void clear() { failures_.clear(); }

 private:
  struct Failure {
    FolderState state;
    Error error;
    Clock::time_point until;
  };

  std::map<std::string, Failure> failures_;
};

}  // namespace ingot
