// Signals as a flag that long work looks at.
#include "cli/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>

namespace ingot {

namespace {

std::atomic<int> received{0};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler touches it");

extern "C" void remember_signal(int signal) {
  int none = 0;
  if (!received.compare_exchange_strong(none, signal)) _exit(128 + signal);
}

}  // namespace

void install_interrupt_handlers() {
  struct sigaction action {};
  action.sa_handler = remember_signal;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, nullptr);
}

bool interrupted() {
  return received.load() != 0;
}

void interruption_point() {
  if (interrupted()) throw Interrupted(received.load());
}

}  // namespace ingot
