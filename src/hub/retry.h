// When a request to the hub is repeated, and how long to wait before.
#pragma once

#include <optional>

#include "base/function_ref.h"
#include "hub/http.h"

namespace ingot {

/// Attempts at one request before giving up.
inline constexpr int kAttemptsMax = 5;

/// Milliseconds to wait after this reply to attempt number `attempt` (from 1). Nothing when another
/// attempt is pointless: the server would answer as before, asks to wait for more than two minutes,
/// or all attempts are made.
///
/// A broken connection and the statuses 408, 429, 500, 502, 503 and 504 are repeated. The wait
/// doubles from half a second, unless the server states it (Retry-After in seconds).
std::optional<int> retry_wait_ms(const HttpReply& reply, int attempt);

/// Waits, calling `tick` at least ten times a second; it may throw to end the wait.
void wait_ms(int ms, FunctionRef<void()> tick);

}  // namespace ingot
