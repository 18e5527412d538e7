// Session files of `ingot run`: continues a saved session, and saves a session.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "cli/run.h"
#include "runtime/session/session_file.h"

namespace ingot {

/// Reads the --session file and writes the --save-session file. Does nothing without these options.
class RunSession {
 public:
  /// Checks the --session file before the instance starts. Errors: Error{kModel} for a bad file.
  RunSession(const RunValues& values, const Instance& instance);

  bool is_continued() const { return file_.has_value(); }
  /// Makes the session's request, adds the tokens of -p or --tokens, and applies the given flags.
  Request request(const Request& flags) const;
  /// Loads the session's keys and values into the engine, for requests with these adapters; null:
  /// without any.
  void restore(Engine& engine, std::shared_ptr<const AdapterList> adapters) const;
  /// Saves `request` and its generated ids `drawn` to the --save-session file. Errors: Error{kIo}.
  void save(Engine& engine, const Request& request, std::span<const std::int32_t> drawn) const;

 private:
  std::vector<std::int32_t> added_tokens() const;

  const RunValues& values_;
  const Instance& instance_;
  ModelFingerprint weights_{};
  std::optional<SessionFile> file_;
};

}  // namespace ingot
