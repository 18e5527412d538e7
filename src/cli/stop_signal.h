// Signals that stop `ingot serve`: the first one in an orderly way, the second one at once.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string_view>
#include <thread>

namespace ingot {

/// Handles SIGINT, SIGTERM and SIGHUP until destruction, in place of interrupt.h. The first signal
/// wakes `wait_for`. A second signal ends the process at once, with `forced_exit_code`. Construct a
/// StopSignal before other threads start, because they inherit the constructor's signal mask.
class StopSignal {
 public:
  explicit StopSignal(int forced_exit_code);
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  /// Lets the first signal wake `wait_for`. Before this call, a signal exits with 128 + signal.
  void begin();
  /// Waits for the first signal, or a call of `ask` or `fail`. Returns false after `seconds`.
  bool wait_for(double seconds);
  /// Returns the name of the first signal, such as "SIGTERM"; "request" after a call of `ask`.
  std::string_view cause();
  /// Returns true if `fail` was called, but no signal came and `ask` was not called.
  bool has_failed();
  /// Wakes `wait_for`, as the first signal does. Thread-safe.
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
  int signal_ = 0;  ///< the first signal; 0 before it
  std::thread thread_;
};

}  // namespace ingot
