// ConnectionPlaces: limits on open connections, in total and per client address.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace ingot {

/// Counts open connections against their limits. Thread-safe.
class ConnectionPlaces {
 public:
  /// The kind of place that a new connection gets.
  enum class Place {
    kNone,      ///< no place: the connection is refused
    kReserved,  ///< a place for probes, since all other places are taken
    kFree,
  };

  /// Allows `most` connections and `reserved` more for probes. One address may have `per_address`.
  ConnectionPlaces(std::int64_t most, std::int64_t reserved, std::int64_t per_address)
      : most_(most), reserved_most_(reserved), per_address_most_(per_address) {}

  /// Takes a place for a connection from `address`. An empty address has no per-address limit.
  Place enter(const std::string& address) {
    const std::lock_guard lock(mutex_);
    const bool is_free = open_ - reserved_ < most_;
    if (!is_free && reserved_ >= reserved_most_) return Place::kNone;
    if (!address.empty()) {
      if (by_address_[address] >= per_address_most_) return Place::kNone;
      ++by_address_[address];
    }
    ++open_;
    reserved_ += is_free ? 0 : 1;
    return is_free ? Place::kFree : Place::kReserved;
  }
  /// Gives back the place that `enter` took.
  void leave(const std::string& address, Place place) {
    const std::lock_guard lock(mutex_);
    const auto at = by_address_.find(address);
    if (at != by_address_.end() && --at->second == 0) by_address_.erase(at);
    reserved_ -= place == Place::kReserved ? 1 : 0;
    if (--open_ == 0) none_open_.notify_all();
  }

  /// Waits up to `seconds` until no connection is open. Returns false if one is still open then.
  bool wait_until_none(double seconds) {
    std::unique_lock lock(mutex_);
    return none_open_.wait_for(lock, std::chrono::duration<double>(seconds),
                               [this] { return open_ == 0; });
  }

 private:
  const std::int64_t most_;
  const std::int64_t reserved_most_;
  const std::int64_t per_address_most_;
  std::mutex mutex_;
  std::condition_variable none_open_;
  std::int64_t open_ = 0;
  std::int64_t reserved_ = 0;  ///< number of open connections in places for probes
  std::map<std::string, std::int64_t> by_address_;
};

}  // namespace ingot
