// When a request is worth repeating, and how long to wait before.
#pragma once

#include <optional>

#include "base/function_ref.h"
#include "hub/http.h"

namespace ingot {

/// Attempts at the same thing before giving up.
inline constexpr int kAttemptsMax = 5;

/// Milliseconds to wait before attempt `attempt` + 1 (the first is 1) after this reply; nothing
/// when it is not worth another: the server would give the same answer, asks for more than two
/// minutes of patience, or it has been asked often enough.
///
/// A broken connection and the statuses 408, 429, 500, 502, 503 and 504 pass; the wait doubles from
/// half a second, unless the server says how long (Retry-After in seconds).
std::optional<int> retry_wait_ms(const HttpReply& reply, int attempt);

/// Waits; calls `tick` ten times a second or more, which may throw to end it.
void wait_ms(int ms, FunctionRef<void()> tick);

}  // namespace ingot
