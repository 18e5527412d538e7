// Session files of ingot run: the one it continues and the one it saves.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "cli/run.h"
#include "runtime/session/session_file.h"

namespace ingot {

/// --session and --save-session; without either it does nothing.
class RunSession {
 public:
  /// Before the instance is started. Errors: Error{kModel} for a file that is refused.
  RunSession(const RunValues& values, const Instance& instance);

  bool is_continued() const { return file_.has_value(); }
  /// The session's request, with what the command line adds to it: tokens, and values of `flags`.
  Request request(const Request& flags) const;
  /// Takes what was computed over.
  void restore(Engine& engine) const;
  /// Writes the file after `drawn` was drawn for `request`. Errors: Error{kIo}.
  void save(Engine& engine, const Request& request, std::span<const std::int32_t> drawn) const;

 private:
  std::vector<std::int32_t> added_tokens() const;

  const RunValues& values_;
  const Instance& instance_;
  ModelFingerprint weights_{};
  std::optional<SessionFile> file_;
};

}  // namespace ingot
