// Keeps the actions of forced exits.
#include "base/forced_exit.h"

#include <array>
#include <atomic>

#include "base/check.h"

namespace ingot {

namespace {

using Action = void (*)();
std::array<std::atomic<Action>, kForcedExitActionsMax> actions{};
static_assert(std::atomic<Action>::is_always_lock_free, "a signal handler reads it");

}  // namespace

void add_forced_exit_action(Action action) {
  for (std::atomic<Action>& place : actions) {
    Action known = nullptr;
    if (place.compare_exchange_strong(known, action) || known == action) return;
  }
  INGOT_CHECK(false, "more than ", kForcedExitActionsMax, " actions of forced exits");
}

void run_forced_exit_actions() {
  for (const std::atomic<Action>& place : actions) {
    if (const Action action = place.load(); action != nullptr) action();
  }
}

}  // namespace ingot
