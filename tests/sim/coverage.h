// Coverage: which events met requests in which state.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace ingot::sim {

/// The state of a request between two ticks.
enum class State {
  kInbox,           ///< submitted, and not yet seen by the engine
  kWaiting,         ///< never admitted
  kForking,         ///< waits while another choice computes the prompt of both
  kPrompt,          ///< runs, without a drawn token
  kTokens,          ///< runs, with drawn tokens
  kPaused,          ///< admitted, but its reader is behind
  kReturned,        ///< preempted
  kReturnedPaused,  ///< preempted, and its reader is behind
  kEnded,           ///< ended, but its reader has not seen it
  kCount,
};

/// An event of a tick.
enum class Event {
  kCancel,
  kDrop,         ///< its stream is destroyed
  kStall,        ///< its reader stops reading
  kResume,       ///< its reader reads again
  kRead,         ///< a delta is read
  kArrival,      ///< another request arrives
  kJump,         ///< the clock jumps
  kFlush,        ///< all cached prefixes are dropped
  kTransient,    ///< a step fails once
  kLateFailure,  ///< a step fails when it is waited for
  kLost,         ///< the step fails again, and all running requests end
  kBroken,       ///< all steps fail
  kDrain,        ///< no more requests are accepted
  kForced,       ///< the time to drain is over
  kStop,         ///< the engine is stopped
  kAdmit,        ///< it is admitted
  kHit,          ///< it is admitted with a cached prefix
  kPreempt,      ///< it is preempted
  kNan,          ///< its row holds NaN
  kRefused,      ///< its blocks are refused
  kLate,         ///< its deadline cannot be kept
  kGivenUp,      ///< its reader stalls for too long
  kEndToken,     ///< it draws an end token
  kLength,       ///< it reaches its last token or row
  kTruncate,     ///< its tokens are taken back
  kCount,
};

inline constexpr int kStates = static_cast<int>(State::kCount);
inline constexpr int kEvents = static_cast<int>(Event::kCount);

/// Counts by state and event.
class Coverage {
 public:
  void visit(State state, Event event) {
    ++counts_[static_cast<std::size_t>(state)][static_cast<std::size_t>(event)];
  }
  void add(const Coverage& other);
  /// The fraction of possible pairs that occurred.
  double fraction() const;
  /// A table of counts: "-" for impossible pairs.
  std::string table() const;

 private:
  std::array<std::array<std::int64_t, kEvents>, kStates> counts_{};
};

}  // namespace ingot::sim
