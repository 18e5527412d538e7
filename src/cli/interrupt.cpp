// Signals as a flag that long work looks at.
#include "cli/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>

#include "base/output_file.h"

namespace ingot {

namespace {

std::atomic<int> received{0};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler touches it");

/// Long enough to finish a step of a small model, short enough for a person to wait.
constexpr unsigned kGraceSeconds = 1;

extern "C" void end_now(int) {
  remove_unfinished_outputs();
  _exit(128 + received.load());
}

extern "C" void remember_signal(int signal) {
  int none = 0;
  if (!received.compare_exchange_strong(none, signal)) end_now(signal);
  alarm(kGraceSeconds);
}

}  // namespace

void install_interrupt_handlers() {
  struct sigaction action {};
  action.sa_handler = end_now;
  sigaction(SIGALRM, &action, nullptr);
  action.sa_handler = remember_signal;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    // A shell lets a background job, and nohup lets its command, outlive these.
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

}  // namespace ingot
