// Ctrl-C and SIGTERM: a command ends at the next safe point, or at once after a second signal or a
// second without a safe point.
#pragma once

#include <exception>

namespace ingot {

/// Thrown by `interruption_point`; the command line turns it into exit code 128 + signal.
class Interrupted : public std::exception {
 public:
  explicit Interrupted(int signal) : signal_(signal) {}
  int exit_code() const { return 128 + signal_; }
  const char* what() const noexcept override { return "interrupted"; }

 private:
  int signal_;
};

/// From here on the first SIGINT, SIGTERM or SIGHUP is remembered, unless the parent ignores it. A
/// second signal ends the process at once, and so does one second without a safe point; unfinished
/// output files are removed. SIGPIPE and SIGXFSZ are ignored: a closed pipe or a file at its limit
/// is an error of the write.
void install_interrupt_handlers();

/// Whether a signal has come.
bool interrupted();

/// Throws Interrupted when a signal has come.
void interruption_point();

/// While it lives, Ctrl-C (SIGINT) only sets a flag. One at a time.
class CtrlC {
 public:
  CtrlC();
  ~CtrlC();
  CtrlC(const CtrlC&) = delete;
  CtrlC& operator=(const CtrlC&) = delete;

  /// Whether Ctrl-C came since the last call.
  bool take();
};

}  // namespace ingot
