// Handles SIGINT, SIGTERM and SIGHUP: a signal sets a flag that long work checks.
#include "cli/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>

#include "base/error.h"
#include "base/forced_exit.h"

namespace ingot {

namespace {

std::atomic<int> received{0};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler touches it");
std::atomic<bool> stop_asked{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler touches it");

/// Seconds until a forced end: a step of a small model can finish, and a user can wait.
constexpr unsigned kGraceSeconds = 1;

extern "C" void end_now(int) {
  run_forced_exit_actions();
  _exit(128 + received.load());
}

extern "C" void remember_signal(int signal) {
  int none = 0;
  if (!received.compare_exchange_strong(none, signal)) end_now(signal);
  alarm(kGraceSeconds);
}

extern "C" void remember_stop(int) { stop_asked.store(true); }

/// Sets the handler of SIGINT, unless the parent process ignores SIGINT.
void handle_ctrl_c(void (*handler)(int)) {
  struct sigaction before {};
  if (sigaction(SIGINT, nullptr, &before) != 0 || before.sa_handler == SIG_IGN) return;
  struct sigaction action {};
  action.sa_handler = handler;
  sigaction(SIGINT, &action, nullptr);
}

}  // namespace

void install_interrupt_handlers() {
  struct sigaction action {};
  action.sa_handler = end_now;
  sigaction(SIGALRM, &action, nullptr);
  action.sa_handler = remember_signal;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    // A signal that the parent ignores stays ignored: shells and nohup let commands outlive it.
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;
    sigaction(signal, &action, nullptr);
  }
  action.sa_handler = SIG_IGN;
  for (const int signal : {SIGPIPE, SIGXFSZ}) sigaction(signal, &action, nullptr);
}

bool interrupted() { return received.load() != 0; }

void interruption_point() {
  if (interrupted()) throw Interrupted(received.load());
}

void waiting_point() {
  interruption_point();
  if (stop_asked.exchange(false)) throw Error(ErrorCode::kInvalid, "stopped by Ctrl-C");
}

CtrlC::CtrlC() { handle_ctrl_c(remember_stop); }

CtrlC::~CtrlC() { handle_ctrl_c(remember_signal); }

bool CtrlC::take() { return stop_asked.exchange(false); }

}  // namespace ingot
