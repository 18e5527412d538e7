// StopSignal: a thread that waits for signals.
#include "cli/stop_signal.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "base/forced_exit.h"

namespace ingot {

namespace {

/// The signal that ends the watching thread; no other code sends it.
constexpr int kEndSignal = SIGUSR2;

sigset_t watched() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    // A signal that the parent ignores stays ignored: shells and nohup let commands outlive it.
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;
    sigaddset(&set, signal);
  }
  sigaddset(&set, kEndSignal);
  return set;
}

[[noreturn]] void end_now(int code) {
  run_forced_exit_actions();
  _exit(code);
}

}  // namespace

StopSignal::StopSignal(int forced_exit_code) : forced_exit_code_(forced_exit_code) {
  const sigset_t set = watched();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  thread_ = std::thread([this] { watch(); });
}

StopSignal::~StopSignal() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  pthread_kill(thread_.native_handle(), kEndSignal);
  thread_.join();
  const sigset_t set = watched();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void StopSignal::begin() {
  const std::lock_guard lock(mutex_);
  has_begun_ = true;
}

bool StopSignal::wait_for(double seconds) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                           [this] { return was_asked_ || has_failed_; });
}

std::string_view StopSignal::cause() {
  const std::lock_guard lock(mutex_);
  if (signal_ == SIGINT) return "SIGINT";
  if (signal_ == SIGHUP) return "SIGHUP";
  return signal_ == SIGTERM ? "SIGTERM" : "request";
}

bool StopSignal::has_failed() {
  const std::lock_guard lock(mutex_);
  return has_failed_ && !was_asked_;
}

void StopSignal::ask() {
  const std::lock_guard lock(mutex_);
  was_asked_ = true;
  changed_.notify_all();
}

void StopSignal::fail() {
  const std::lock_guard lock(mutex_);
  has_failed_ = true;
  changed_.notify_all();
}

void StopSignal::watch() {
  const sigset_t set = watched();
  for (;;) {
    int signal = 0;
    if (sigwait(&set, &signal) != 0) continue;
    const std::lock_guard lock(mutex_);
    if (is_over_) return;
    if (signal == kEndSignal) continue;
    if (!has_begun_) end_now(128 + signal);
    if (was_asked_ || has_failed_) end_now(forced_exit_code_);
    was_asked_ = true;
    signal_ = signal;
    changed_.notify_all();
  }
}

}  // namespace ingot
