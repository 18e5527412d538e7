// Signals that stop `ingot serve`: the first one in an orderly way, the second one at once.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

namespace ingot {

/// Handles SIGINT, SIGTERM and SIGHUP while it exists, in place of interrupt.h. The first signal
/// wakes `wait_for`; a second one ends the process at once, with `forced_exit_code`. Construct it
/// before other threads start: they inherit its mask, which blocks these signals.
class StopSignal {
 public:
  explicit StopSignal(int forced_exit_code);
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  /// From now on the first signal wakes `wait_for`; before, it ends the process with 128 + signal.
  void begin();
  /// Waits up to `seconds` for the first signal, `ask` or `fail`. False if the time ran out.
  bool wait_for(double seconds);
  /// Whether `fail` was called, and neither a signal nor `ask` came.
  bool has_failed();
  /// Acts like a first signal. Thread-safe.
  void ask();
  /// Wakes `wait_for` because serving has failed. Thread-safe.
  void fail();

 private:
  void watch();

  int forced_exit_code_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool has_begun_ = false;
  bool has_failed_ = false;
  bool is_over_ = false;
  bool was_asked_ = false;
  std::thread thread_;
};

}  // namespace ingot
