// HttpMetrics: counters of connections, responses and dropped log lines.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace ingot {

/// Counters of the HTTP server. Thread-safe.
class HttpMetrics {
 public:
  /// Counts a response. `route` is the path in the route table, not the path that the client sent.
  void add_response(std::string_view route, int status) {
    const std::lock_guard lock(mutex_);
    ++responses_[{std::string(route), status}];
  }
  std::map<std::pair<std::string, int>, std::uint64_t> responses() const {
    const std::lock_guard lock(mutex_);
    return responses_;
  }

  std::atomic<std::int64_t> open_connections{0};
  std::atomic<std::uint64_t> refused_connections{0};
  std::atomic<std::uint64_t> log_lines_dropped{0};

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, std::uint64_t> responses_;
};

}  // namespace ingot
