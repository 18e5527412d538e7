// Violations of several threads, of which the lowest seed is reported.
#include "sim/violation.h"

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <mutex>

#include "base/check.h"

namespace ingot::sim {

namespace {

constexpr std::uint64_t kNoSeed = std::numeric_limits<std::uint64_t>::max();

struct Reports {
  std::mutex mutex;
  std::condition_variable never;
  Violation first{.seed = kNoSeed, .invariant = {}, .message = {}};
  int active = 0;
  PrintViolation print = nullptr;
};
/// Never destroyed: threads may still wait in it when the process ends.
Reports& reports() {
  static Reports* const all = new Reports;
  return *all;
}
std::atomic<std::uint64_t> failed_seed{kNoSeed};
thread_local std::uint64_t current_seed = kNoSeed;

/// Marks a thread as done. The last one ends the process if there is a violation.
void leave(Reports& all) {
  if (--all.active > 0 || all.first.seed == kNoSeed) return;
  all.print(all.first);
  std::fflush(nullptr);
  std::_Exit(1);
}

void check_handler(const char* file, int line, const std::string& message) {
  const std::string path = file;
  violate("check", cat(path.substr(path.rfind('/') + 1), ":", line, ": ", message));
}

/// Reports a fatal signal at once: the process cannot continue, so it does not wait for the other
/// threads. Not under sanitizers, which report more.
[[maybe_unused]] void on_signal(int number) {
  reports().print({current_seed, "crash", cat("signal ", number)});
  std::fflush(nullptr);
  std::_Exit(1);
}

}  // namespace

void catch_violations(int threads, PrintViolation print) {
  reports().active = threads;
  reports().print = print;
  set_check_handler(check_handler);
#ifndef INGOT_SANITIZED
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    std::signal(number, on_signal);
  }
#endif
}

bool begin_seed(std::uint64_t seed) {
  current_seed = seed;
  return seed < failed_seed.load();
}

void end_seeds() {
  const std::lock_guard lock(reports().mutex);
  leave(reports());
}

void violate(const char* invariant, const std::string& message) {
  Reports& all = reports();
  std::unique_lock lock(all.mutex);
  if (current_seed < all.first.seed) {
    all.first = {current_seed, invariant, message};
    failed_seed.store(current_seed);
  }
  leave(all);
  all.never.wait(lock, [] { return false; });
  std::abort();
}

}  // namespace ingot::sim
