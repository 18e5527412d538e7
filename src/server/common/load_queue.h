// LoadQueue: limits the requests that wait for loads of adapters.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace ingot {

/// Counts the requests that wait for the thread that loads adapters, and the adapters that they
/// wait for. Thread-safe.
class LoadQueue {
 public:
  LoadQueue(std::size_t names_max, std::size_t requests_max)
      : names_max_(names_max), requests_max_(requests_max) {}

  /// Returns a place for a request that waits for these adapters, which the owner drops to leave;
  /// null if there is none. This object must outlive it.
  std::shared_ptr<const void> enter(std::vector<std::string> names);

 private:
  void leave(const std::vector<std::string>& names);

  const std::size_t names_max_;
  const std::size_t requests_max_;
  std::mutex mutex_;                          ///< protects the members below
  std::map<std::string, std::size_t> names_;  ///< how many requests wait for an adapter
  std::size_t requests_ = 0;
};

}  // namespace ingot
