// Session files of `ingot run`: continues a saved session, and saves a session.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "cli/run.h"
#include "runtime/session/session_file.h"

namespace ingot {

/// The session files of --session and --save-session. Without these options it does nothing.
class RunSession {
 public:
  /// Checks the --session file before the instance starts. Errors: Error{kModel} for a bad file.
  RunSession(const RunValues& values, const Instance& instance);

  bool is_continued() const { return file_.has_value(); }
  /// The session's request, with the tokens of -p or --tokens and the values of given flags.
  Request request(const Request& flags) const;
  /// Loads the session's keys and values into the engine.
  void restore(Engine& engine) const;
  /// Writes the session of `request`, which generated the ids `drawn`. Errors: Error{kIo}.
  void save(Engine& engine, const Request& request, std::span<const std::int32_t> drawn) const;

 private:
  std::vector<std::int32_t> added_tokens() const;

  const RunValues& values_;
  const Instance& instance_;
  ModelFingerprint weights_{};
  std::optional<SessionFile> file_;
};

}  // namespace ingot
