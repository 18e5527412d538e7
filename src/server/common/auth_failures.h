// AuthFailures: which addresses have sent too many wrong keys.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace ingot {

/// Counts wrong keys by address within the last minute; for IPv6 by network of 64 bits, since one
/// client may own all its addresses. From any thread.
class AuthFailures {
 public:
  /// The clock of all times.
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kWindow{60};
  /// Addresses that are told apart; further ones count together.
  static constexpr std::size_t kAddressesMax = 4096;
  /// Wrong keys of an address within the window. A client with a mistyped key that retries stays
  /// below it; a larger number helps those who guess.
  static constexpr std::size_t kFailuresMax = 20;

  explicit AuthFailures(std::size_t most = kFailuresMax) : most_(most) {}

  /// Counts a wrong key. Zero, or where the address has too many: the time until one is counted
  /// again.
  std::chrono::seconds add(const std::string& address, Clock::time_point now);

 private:
  /// The times of the newest failures, as a ring.
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
