// ServerLog: one JSON object per line on stderr. It never has keys, and prompts and outputs only
// with --log-content.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include "load/json.h"

namespace ingot {

/// Writes lines. A line that cannot be written at once is dropped and counted. From any thread.
class ServerLog {
 public:
  /// Which lines are written; each level has those of the levels before.
  enum class Level { kNone, kErrors, kRequests, kContents };

  /// `dropped` counts the lines that could not be written; it outlives this.
  ServerLog(int fd, Level level, std::atomic<std::uint64_t>& dropped)
      : fd_(fd), level_(level), dropped_(dropped) {}

  /// Whether lines of requests are written.
  bool has_requests() const { return level_ >= Level::kRequests; }
  /// Whether the contents of requests and responses are written.
  bool has_contents() const { return level_ == Level::kContents; }
  /// A request has ended; `fields` stand behind the time and the event's name.
  void request(const Json& fields);
  /// The text of a request or of its response, as `of` says, in as many lines as it takes.
  void content(std::string_view id, std::string_view of, std::string_view text, bool is_cut);
  /// A refusal: at most one line a second for each status and `event`, which is a literal.
  void refusal(std::string_view event, int status);
  /// A request failed with 500: at most one line a second for each `route`, which is a literal.
  void failure(std::string_view route, std::string_view id, std::string_view cause);

 private:
  /// False where a line was written in this second; otherwise adds how many were left out.
  bool is_due(std::string_view name, int status, Json& fields);
  void write(std::string_view event, const Json& fields);

  int fd_;
  Level level_;
  std::atomic<std::uint64_t>& dropped_;
  std::mutex mutex_;
  struct Lines {
    std::int64_t second = 0;   ///< when the last one was written
    std::uint64_t others = 0;  ///< lines left out since
  };
  std::map<std::pair<std::string_view, int>, Lines> lines_;  ///< by event or route, and status
};

}  // namespace ingot
