// Session files of ingot run: the one it continues and the one it saves.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "cli/run.h"
#include "runtime/session/session_file.h"

namespace ingot {

/// The files of --session and --save-session. Without these options it does nothing.
class RunSession {
 public:
  /// Before the instance is started. Errors: Error{kModel} for a file that is refused.
  RunSession(const RunValues& values, const Instance& instance);

  bool is_continued() const { return file_.has_value(); }
  /// The session's request with the tokens of -p or --tokens and the given values of `flags`.
  Request request(const Request& flags) const;
  /// Loads the session's keys and values into the engine.
  void restore(Engine& engine) const;
  /// Writes the file of `request` and its generated ids `drawn`. Errors: Error{kIo}.
  void save(Engine& engine, const Request& request, std::span<const std::int32_t> drawn) const;

 private:
  std::vector<std::int32_t> added_tokens() const;

  const RunValues& values_;
  const Instance& instance_;
  ModelFingerprint weights_{};
  std::optional<SessionFile> file_;
};

}  // namespace ingot
