// Trace: the events of a seed, as a hash and, on request, as text.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "sim/random.h"

namespace ingot::sim {

/// Hashes events in order. Equal seeds have equal hashes.
class Trace {
 public:
  /// `prints`: also writes every event as a line to stdout.
  explicit Trace(bool prints = false) : prints_(prints) {}

  void set_tick(std::int64_t tick) { tick_ = tick; }
  std::int64_t tick() const { return tick_; }
  /// Adds an event. Each '#' in its text `what` is replaced by one of the numbers.
  void add(const char* what, std::int64_t a = 0, std::int64_t b = 0, std::int64_t c = 0,
           std::int64_t d = 0) {
    hash_ = mix(mix(hash_, static_cast<std::uint64_t>(tick_)), static_cast<std::uint64_t>(what[0]));
    for (const std::int64_t x : {a, b, c, d}) hash_ = mix(hash_, static_cast<std::uint64_t>(x));
    if (prints_) print(what, a, b, c, d);
  }
  std::uint64_t hash() const { return hash_; }

 private:
  void print(const char* what, std::int64_t a, std::int64_t b, std::int64_t c,
             std::int64_t d) const;

  bool prints_;
  std::int64_t tick_ = 0;
  std::uint64_t hash_ = 0;
};

}  // namespace ingot::sim
