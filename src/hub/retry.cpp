// Retry rules for requests to the hub: retried statuses and waits.
#include "hub/retry.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <string_view>
#include <thread>

namespace ingot {

namespace {

constexpr int kFirstWaitMs = 500;
constexpr int kRetryAfterSecondsMax = 120;

bool is_passing(const HttpReply& reply) {
  if (reply.transport == Transport::kBroken) return true;
  switch (reply.status) {
    case 408:
    case 429:
    case 500:
    case 502:
    case 503:
    case 504:
      return reply.transport == Transport::kDone;
    default:
      return false;
  }
}

}  // namespace

std::optional<int> retry_wait_ms(const HttpReply& reply, int attempt) {
  if (attempt >= kAttemptsMax || !is_passing(reply)) return std::nullopt;
  const std::string_view text = reply.retry_after;
  int seconds = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), seconds);
  // The header may also be a date. For a date or invalid text the usual wait applies.
  if (text.empty() || result.ec == std::errc::invalid_argument ||
      result.ptr != text.data() + text.size() || seconds < 0) {
    return kFirstWaitMs << (attempt - 1);
  }
  if (result.ec != std::errc() || seconds > kRetryAfterSecondsMax) return std::nullopt;
  return seconds * 1000;
}

void wait_ms(int ms, FunctionRef<void()> tick) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kPart{50};
  const auto end = Clock::now() + std::chrono::milliseconds(ms);
  for (auto now = Clock::now(); now < end; now = Clock::now()) {
    tick();
    std::this_thread::sleep_for(std::min<Clock::duration>(kPart, end - now));
  }
}

}  // namespace ingot
