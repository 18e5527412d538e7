// Retry rules for requests to the hub: which failures are retried, and after which wait.
#pragma once

#include <optional>

#include "base/function_ref.h"
#include "hub/http.h"

namespace ingot {

/// Limit on the attempts at one request, including the first attempt.
inline constexpr int kAttemptsMax = 5;

/// Returns the wait in milliseconds after attempt `attempt` (the first is 1), which got `reply`.
/// Returns nothing if no attempt should follow: kAttemptsMax is reached, the failure would repeat,
/// or the server asks to wait for more than two minutes.
///
/// Broken connections and the statuses 408, 429, 500, 502, 503 and 504 are worth a retry. The wait
/// is first 500 ms, then doubles, unless the server gives a wait (Retry-After in seconds).
std::optional<int> retry_wait_ms(const HttpReply& reply, int attempt);

/// Waits `ms` milliseconds. Calls `tick` at least ten times a second; `tick` may throw to stop.
void wait_ms(int ms, FunctionRef<void()> tick);

}  // namespace ingot
