// AuthFailures: a limit on wrong API keys from one client address.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace ingot {

/// Counts the wrong API keys of each address in the last minute. IPv6 addresses with equal first 64
/// bits count as one address, since one client may own a whole /64 network. Thread-safe.
class AuthFailures {
 public:
  /// The clock of all time points that callers pass.
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kWindow{60};
  /// Maximum number of addresses with counts of their own; further addresses share one count.
  static constexpr std::size_t kAddressesMax = 4096;
  /// Number of wrong keys that an address may send within kWindow. 20 are enough for a client that
  /// retries a mistyped key. A larger number would help an attacker guess keys.
  static constexpr std::size_t kFailuresMax = 20;

  explicit AuthFailures(std::size_t most = kFailuresMax) : most_(most) {}

  /// If the address has reached its limit, returns the time until the address may try again.
  /// Otherwise counts a wrong key and returns zero.
  std::chrono::seconds add(const std::string& address, Clock::time_point now);

 private:
  /// The times of an address's last wrong keys, as a ring buffer.
  struct Failures {
    std::vector<Clock::time_point> moments;
    std::size_t oldest = 0;
    Clock::time_point last;
  };

  Failures& of(std::string address, Clock::time_point now);

  std::size_t most_;
  std::mutex mutex_;
  std::map<std::string, Failures> failures_;
  Clock::time_point next_sweep_ = Clock::time_point::min();
};

}  // namespace ingot
