// The server's log: one JSON object a line on stderr, without keys, and without prompts and outputs
// unless it is told to have them.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include "load/json.h"

namespace ingot {

/// Writes lines; what cannot be written at once is dropped and counted. From any thread.
class ServerLog {
 public:
  /// Lines of which kinds are written.
  enum class Level { kNone, kErrors, kRequests, kContents };

  /// `dropped` counts the lines that could not be written; it outlives this.
  ServerLog(int fd, Level level, std::atomic<std::uint64_t>& dropped)
      : fd_(fd), level_(level), dropped_(dropped) {}

  /// Whether lines of requests are written.
  bool has_requests() const { return level_ >= Level::kRequests; }
  /// Whether what requests and responses say is written.
  bool has_contents() const { return level_ == Level::kContents; }
  /// `fields` stand behind time and `event`.
  void request(const Json& fields);
  /// What a request said, or its response (`of`): in as many lines as it takes.
  void content(std::string_view id, std::string_view of, std::string_view text, bool is_cut);
  /// At most one line a second of each event, which is a literal, and status: a refusal.
  void refusal(std::string_view event, int status);
  /// At most one line a second of each route, which is a literal: a request that failed with 500,
  /// and why.
  void failure(std::string_view route, std::string_view id, std::string_view cause);

 private:
  /// Adds how many of its lines were not written since the last one; false where none is due.
  bool is_due(std::string_view name, int status, Json& fields);
  void write(std::string_view event, const Json& fields);

  int fd_;
  Level level_;
  std::atomic<std::uint64_t>& dropped_;
  std::mutex mutex_;
  struct Lines {
    std::int64_t second = 0;   ///< of the last one
    std::uint64_t others = 0;  ///< that were not written since
  };
  std::map<std::pair<std::string_view, int>, Lines> lines_;  ///< by event or route, and status
};

}  // namespace ingot
