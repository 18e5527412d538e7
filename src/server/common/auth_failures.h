// AuthFailures: who has guessed keys too often.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace ingot {

/// Wrong keys of each address within the last minute; of IPv6, of each network of 64 bits, which
/// one guesser has all of. From any thread.
class AuthFailures {
 public:
  /// Of all moments here.
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kWindow{60};
  /// Addresses that are told apart; those beyond them count together.
  static constexpr std::size_t kAddressesMax = 4096;
  /// Wrong keys of an address within the window. A client with a mistyped key that retries stays
  /// below it; a larger number helps those who guess.
  static constexpr std::size_t kFailuresMax = 20;

  explicit AuthFailures(std::size_t most = kFailuresMax) : most_(most) {}

  /// A wrong key: nothing where it is counted, else how long nothing of the address will be.
  std::chrono::seconds add(const std::string& address, Clock::time_point now);

 private:
  /// The last moments, one of which is the oldest.
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
