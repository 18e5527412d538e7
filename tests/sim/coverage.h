// Coverage: which events met requests in which state.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace ingot::sim {

/// Where a request stands between two ticks.
enum class State {
  kInbox,           ///< submitted, and the engine has not looked
  kWaiting,         ///< never had its turn
  kForking,         ///< waits for another one to compute the prompt of both
  kPrompt,          ///< runs, nothing drawn yet
  kTokens,          ///< runs and draws
  kPaused,          ///< has its place, but its reader is behind
  kReturned,        ///< gave way
  kReturnedPaused,  ///< gave way while its reader was behind, or its reader is behind since
  kEnded,           ///< ended, and its reader has not seen it
  kCount,
};

/// What can happen to a request in a tick.
enum class Event {
  kCancel,
  kDrop,         ///< its stream goes away
  kStall,        ///< its reader takes nothing more
  kResume,       ///< its reader goes on
  kRead,         ///< a piece is taken
  kArrival,      ///< another request comes
  kJump,         ///< the clock jumps
  kFlush,        ///< prefixes are forgotten
  kTransient,    ///< a step fails once
  kLateFailure,  ///< a step fails when it is waited for
  kLost,         ///< so it does again, and all that runs ends with it
  kBroken,       ///< all steps fail
  kDrain,        ///< no more requests are taken
  kForced,       ///< the time to drain is over
  kStop,         ///< the engine goes away
  kAdmit,        ///< gets its turn
  kHit,          ///< gets its turn with a prefix that was there
  kGiveWay,      ///< its blocks are needed
  kNan,          ///< its row holds NaN
  kRefused,      ///< its blocks cannot be had
  kLate,         ///< its deadline cannot be kept
  kGivenUp,      ///< its reader stalled for too long
  kEndToken,     ///< draws a token that ends it
  kLength,       ///< draws its last token, or the last of its rows is there
  kTruncate,     ///< tokens are taken back
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
  /// Of the pairs that can meet, those that did.
  double fraction() const;
  /// A table of counts: "-" where a pair cannot meet.
  std::string table() const;

 private:
  std::array<std::array<std::int64_t, kEvents>, kStates> counts_{};
};

}  // namespace ingot::sim
