// ServerLog: the server's log, one JSON object per line on stderr. It never has API keys; it has
// prompts and outputs only with --log-content.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include "load/json.h"
#include "server/http/http.h"

namespace ingot {

/// Adds the members `path`, `peer`, `code` and `param` of a refused request to `line`. Leaves out
/// what is empty. Cuts long texts, and escapes control characters.
void add_refusal(Json& line, const HttpRequest& request, const HttpError& error);

/// Writes log lines. Drops and counts a line whose write would block. Thread-safe.
class ServerLog {
 public:
  /// Which lines the log has. Each level includes the lines of the levels before it.
  enum class Level { kNone, kErrors, kRequests, kContents };

  /// `dropped` counts the lines that could not be written; it must outlive the log.
  ServerLog(int fd, Level level, std::atomic<std::uint64_t>& dropped)
      : fd_(fd), level_(level), dropped_(dropped) {}

  /// Returns whether the log has a line for each request.
  bool has_requests() const { return level_ >= Level::kRequests; }
  /// Returns whether the log has the contents of requests and responses.
  bool has_contents() const { return level_ == Level::kContents; }
  /// Logs the end of a request: the time, the event's name, then `fields`.
  void request(const Json& fields);
  /// Logs the text of a request or response in one or more lines. `of` says which of the two it is.
  void content(std::string_view id, std::string_view of, std::string_view text, bool is_cut);
  /// Logs a refusal, at most once a second per status and `event`. `event` is a string literal.
  void refusal(std::string_view event, int status, const HttpRequest& request,
               const HttpError& error);
  /// Logs an event of the whole server, such as the start of a drain.
  void event(std::string_view name, const Json& fields);
  /// Logs an error 500, at most once a second for each `route`. `route` must be a string literal.
  void failure(std::string_view route, std::string_view id, std::string_view cause);

 private:
  /// Returns whether this second has no line of `name` and `status` yet. If so, completes `fields`.
  bool is_due(std::string_view name, int status, Json& fields);
  void write(std::string_view event, const Json& fields);

  int fd_;
  Level level_;
  std::atomic<std::uint64_t>& dropped_;
  std::mutex mutex_;
  struct Lines {
    std::int64_t second = 0;   ///< second of the last line
    std::uint64_t others = 0;  ///< number of lines omitted since the last line
  };
  std::map<std::pair<std::string_view, int>, Lines> lines_;  ///< by (event or route, status)
};

}  // namespace ingot
