// The server's log: one JSON object a line on stderr, without prompts, outputs or keys.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string_view>

#include "load/json.h"

namespace ingot {

/// Writes lines; what cannot be written at once is dropped and counted. From any thread.
class ServerLog {
 public:
  /// Lines of which kinds are written.
  enum class Level { kNone, kErrors, kRequests };

  /// `dropped` counts the lines that could not be written; it outlives this.
  ServerLog(int fd, Level level, std::atomic<std::uint64_t>& dropped)
      : fd_(fd), level_(level), dropped_(dropped) {}

  /// Whether lines of requests are written.
  bool has_requests() const { return level_ == Level::kRequests; }
  /// `fields` stand behind time and `event`.
  void request(const Json& fields);
  /// At most one line a second of each event, which is a literal: a refusal that is not of a
  /// request.
  void refusal(std::string_view event, int status);

 private:
  void write(std::string_view event, const Json& fields);

  int fd_;
  Level level_;
  std::atomic<std::uint64_t>& dropped_;
  std::mutex mutex_;
  struct Refusals {
    std::int64_t second = 0;   ///< of the last line
    std::uint64_t others = 0;  ///< that were not written since
  };
  std::map<std::string_view, Refusals> refusals_;  ///< by event
};

}  // namespace ingot
