// Ctrl-C and SIGTERM: a command ends at its next safe point. It ends at once after a second signal,
// or after one second without a safe point.
#pragma once

#include <exception>

namespace ingot {

/// Thrown by `interruption_point`; the command line turns it into exit code 128 + signal number.
class Interrupted : public std::exception {
 public:
  explicit Interrupted(int signal) : signal_(signal) {}
  int exit_code() const { return 128 + signal_; }
  const char* what() const noexcept override { return "interrupted"; }

 private:
  int signal_;
};

/// Installs handlers. The first SIGINT, SIGTERM or SIGHUP sets a flag, unless the parent process
/// ignores the signal. A second signal, or one second without a safe point, ends the process and
/// removes unfinished output files. SIGPIPE and SIGXFSZ are ignored: the write fails instead.
void install_interrupt_handlers();

/// Returns whether a signal that ends the command has arrived.
bool interrupted();

/// Marks a safe point: throws Interrupted if a signal that ends the command has arrived.
void interruption_point();

/// Marks a point in a wait for input. Works as `interruption_point`, and
/// throws Error{kInvalid} if Ctrl-C arrived while a CtrlC object exists.
void waiting_point();

/// While a CtrlC object exists, Ctrl-C (SIGINT) only sets a flag. Only one object may exist.
class CtrlC {
 public:
  CtrlC();
  ~CtrlC();
  CtrlC(const CtrlC&) = delete;
  CtrlC& operator=(const CtrlC&) = delete;

  /// Returns whether Ctrl-C arrived since the last call.
  bool take();
};

}  // namespace ingot
