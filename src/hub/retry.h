// Retry rules for requests to the hub: which failures are retried, and after which wait.
#pragma once

#include <optional>

#include "base/function_ref.h"
#include "hub/http.h"

namespace ingot {

/// Most attempts at one request.
inline constexpr int kAttemptsMax = 5;

/// Milliseconds to wait before the next attempt, after attempt number `attempt` (from 1) got this
/// reply. Nothing if there should be no other attempt: kAttemptsMax is reached, the failure would
/// repeat, or the server asks to wait for more than two minutes.
///
/// Broken connections and the statuses 408, 429, 500, 502, 503 and 504 are retried. The wait
/// is first 500 ms, then doubles, unless the server gives a wait (Retry-After in seconds).
std::optional<int> retry_wait_ms(const HttpReply& reply, int attempt);

/// Waits, and calls `tick` at least ten times a second; `tick` may throw to end the wait.
void wait_ms(int ms, FunctionRef<void()> tick);

}  // namespace ingot
