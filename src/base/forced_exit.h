// What a process does before a signal handler ends it with _exit.
#pragma once

namespace ingot {

/// Adds an action that forced exits run. It must be async-signal-safe. Adding it again does
/// nothing. At most kForcedExitActionsMax actions exist.
void add_forced_exit_action(void (*action)());
inline constexpr int kForcedExitActionsMax = 4;

/// Runs the actions. Only for signal handlers that end the process.
void run_forced_exit_actions();

}  // namespace ingot
