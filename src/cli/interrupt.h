// Ctrl-C and SIGTERM: a command ends in order at the next safe point, or without one when asked
// twice or when no safe point comes.
#pragma once

#include <exception>

namespace ingot {

/// Thrown by `interruption_point`; main turns it into exit code 128 + signal.
class Interrupted : public std::exception {
 public:
  explicit Interrupted(int signal) : signal_(signal) {}
  int exit_code() const { return 128 + signal_; }
  const char* what() const noexcept override { return "interrupted"; }

 private:
  int signal_;
};

/// From here on SIGINT, SIGTERM and SIGHUP are remembered, except signals that the parent ignores.
/// A second one ends the process at once, and so does a second without a safe point after the
/// first; output files that are not finished go with it. SIGPIPE and SIGXFSZ are ignored: a closed
/// pipe or a file at its limit is an error of the write.
void install_interrupt_handlers();

/// Whether a signal has come.
bool interrupted();

/// Throws Interrupted when a signal has come.
void interruption_point();

/// While it lives, Ctrl-C (SIGINT) asks its owner to stop something and ends nothing. One at a
/// time.
class CtrlC {
 public:
  CtrlC();
  ~CtrlC();
  CtrlC(const CtrlC&) = delete;
  CtrlC& operator=(const CtrlC&) = delete;

  /// Whether it came since the last call.
  bool take();
};

}  // namespace ingot
