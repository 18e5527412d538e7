// Coverage: the pairs of state and event that can meet, and their counts.
#include "sim/coverage.h"

#include <string_view>

#include "base/text.h"

namespace ingot::sim {

namespace {

constexpr std::array<std::string_view, kStates> kStateNames{
    "inbox", "waiting", "forking", "prompt", "tokens", "paused", "returned", "ret.paused", "ended"};
constexpr std::array<std::string_view, kEvents> kEventNames{
    "cancel",   "drop",      "stall",     "resume",   "read",   "arrival", "jump",
    "flush",    "transient", "late step", "lost",     "broken", "drain",   "forced",
    "stop",     "admit",     "hit",       "give way", "nan",    "refused", "late",
    "given up", "end token", "length",    "truncate"};

/// A row for each event, with a character for each state. The state is that of the previous tick; a
/// request can pass several states in one tick, such as from the inbox to its end.
constexpr std::array<std::string_view, kEvents> kPossible{
    "xxxxxxxxx",  // cancel
    "xxxxxxxxx",  // drop
    "xxxxxxxxx",  // stall
    ".xxxxxxxx",  // resume: a submission wakes the engine
    "....xxxxx",  // read: a delta of a request with drawn tokens
    "xxxxxxxxx",  // arrival
    "xxxxxxxxx",  // jump
    "xxxxxxxxx",  // flush
    "xxxxxxxx.",  // transient
    "xxxxxxxx.",  // late step
    "xxxxxxxx.",  // lost
    "xxxxxxxx.",  // broken
    "xxxxxxxx.",  // drain
    ".xxxxxxx.",  // forced: no request can be submitted by then
    ".xxxxxxx.",  // stop: no request can be submitted by then
    "xxx...xx.",  // admit
    "xxx...xx.",  // hit
    "...xxx...",  // preempt
    "xxxxxxxx.",  // nan
    "xxxxxxxx.",  // refused
    "xxxxxxxx.",  // late
    ".....x.x.",  // given up
    "xxxxxxxx.",  // end token
    "xxxxxxxx.",  // length
    "...xx....",  // truncate
};

}  // namespace

void Coverage::add(const Coverage& other) {
  for (std::size_t s = 0; s < kStates; ++s) {
    for (std::size_t e = 0; e < kEvents; ++e) counts_[s][e] += other.counts_[s][e];
  }
}

double Coverage::fraction() const {
  int possible = 0, visited = 0;
  for (std::size_t s = 0; s < kStates; ++s) {
    for (std::size_t e = 0; e < kEvents; ++e) {
      if (kPossible[e][s] != 'x') continue;
      ++possible;
      visited += counts_[s][e] > 0 ? 1 : 0;
    }
  }
  return static_cast<double>(visited) / possible;
}

std::string Coverage::table() const {
  const auto padded = [](std::string_view text) {
    return std::string(text.size() < 11 ? 11 - text.size() : 1, ' ').append(text);
  };
  std::string out = padded("");
  for (const std::string_view name : kStateNames) out += padded(name);
  out += '\n';
  for (std::size_t e = 0; e < kEvents; ++e) {
    out += padded(kEventNames[e]);
    for (std::size_t s = 0; s < kStates; ++s) {
      const std::int64_t count = counts_[s][e];
      const bool possible = kPossible[e][s] == 'x';
      out += padded(count > 0 ? cat(count, possible ? "" : "!") : possible ? "0" : "-");
    }
    out += '\n';
  }
  return out;
}

}  // namespace ingot::sim
