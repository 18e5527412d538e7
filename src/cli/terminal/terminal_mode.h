// TerminalMode: what the terminal does with typed keys. Every end of the program restores it.
#pragma once

namespace ingot {

/// How keys are handled.
enum class KeyMode {
  kSilent,  ///< lines and signal keys as usual, but without echo
  kRaw,     ///< each byte reaches the program at once, without echo; pastes are bracketed
};

/// Changes the mode of a terminal until destruction. The old mode comes back also while the process
/// is stopped, and before a signal, a forced exit or a failed check ends it. While an object
/// exists, others do nothing.
class TerminalMode {
 public:
  /// Does nothing if `fd` is no terminal, or not the terminal of this job.
  TerminalMode(int fd, KeyMode mode);
  ~TerminalMode();
  TerminalMode(const TerminalMode&) = delete;
  TerminalMode& operator=(const TerminalMode&) = delete;

  /// Stops the job, all its processes, as Ctrl-Z does; returns when it continues.
  static void suspend();
  /// Returns how often the process was continued: text of other programs may be on the screen.
  static int times_continued();

 private:
  bool is_active_ = false;
};

/// While it exists, Ctrl-C and its kin send signals, although keys are raw. For work that may wait
/// and reads no keys. Other keys stay for the next reader.
class SignalKeys {
 public:
  SignalKeys();
  ~SignalKeys();
  SignalKeys(const SignalKeys&) = delete;
  SignalKeys& operator=(const SignalKeys&) = delete;
};

}  // namespace ingot
