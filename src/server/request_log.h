// The server's log: one JSON object a line on stderr, without prompts, outputs or keys.
#pragma once

#include <atomic>
#include <cstdint>
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

  /// `fields` stand behind time and `event`.
  void request(Json fields);
  /// At most one line a second of each kind of refusal that is not of a request.
  void refusal(std::string_view event, int status);

 private:
  void write(std::string_view event, Json fields);

  int fd_;
  Level level_;
  std::atomic<std::uint64_t>& dropped_;
  std::mutex mutex_;
  std::int64_t last_refusal_ = 0;     ///< second of the last line of a refusal
  std::uint64_t refusals_since_ = 0;  ///< that were not written
};

}  // namespace ingot
