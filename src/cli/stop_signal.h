// Stop signals of `ingot serve`: the first stops in order, the second at once.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

namespace ingot {

/// While it lives, it handles SIGINT, SIGTERM and SIGHUP in place of `interrupt.h`. The first
/// signal wakes `wait_for`; a second one ends the process at once, with `forced_exit_code`.
/// Constructed before other threads start, since they inherit that these signals are blocked.
class StopSignal {
 public:
  explicit StopSignal(int forced_exit_code);
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  /// From here on the first signal stops in order; before, it ends the process with 128 + signal.
  void begin();
  /// Waits up to `seconds` for the first signal, for `ask` or `fail`. True when one came.
  bool wait_for(double seconds);
  /// Whether `fail` was called before any signal came.
  bool has_failed();
  /// Acts as a first signal; from any thread.
  void ask();
  /// Ends the waiting because serving failed; from any thread.
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
