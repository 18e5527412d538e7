// Client: one request as its sender sees it, and everything that must come out of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/request.h"
#include "runtime/stream.h"
#include "sim/coverage.h"
#include "sim/job.h"

namespace ingot::sim {

/// How eagerly a reader takes pieces.
enum class Pace { kAll, kOne, kNone };

/// What a world did to its requests: what may have ended one before its time.
struct Circumstances {
  bool forced = false;            ///< the engine was stopped, or its time to drain is over
  bool failed = false;            ///< no step can be computed any more
  double stall_seconds = kNever;  ///< after which a reader that takes nothing is given up
  bool prefix_cache = false;      ///< else nothing but forks begins with rows
  std::int64_t losses = 0;        ///< of all that was under way, for want of memory
  std::int64_t refusals = 0;      ///< of blocks that were there
  std::size_t deltas_max = 0;
  std::int32_t preemptions_max = 0;
};

/// A request under way.
struct Client {
  Job job;
  std::optional<Stream> stream;

  // What it asked for.
  std::int64_t limit = 0;  ///< tokens at most
  std::int64_t scores_from = -1;
  HiddenRows hidden = HiddenRows::kNone;
  std::uint64_t tenant = 0;
  std::int32_t priority = 0;
  bool is_fork = false;
  bool reads_cache = true;
  bool has_deadline = false;
  FinishReason finish = FinishReason::kLength;  ///< when nothing comes in between
  std::int32_t stop = -1;                       ///< which stop string ends it then
  std::string text_wanted;                      ///< by then

  // What happened.
  Pace pace = Pace::kAll;
  double read_at = 0;   ///< time of the last piece taken before its end, or of its arrival
  double ended_at = 0;  ///< time of its end
  std::int64_t cancelled_at = -1;  ///< tick
  bool is_dropped = false;
  std::int64_t delivered = 0;
  std::string text;  ///< that was delivered
  State state = State::kInbox;
  State ended_from = State::kInbox;
  std::int64_t seen_at = -1;  ///< tick in which the engine had it
  std::uint32_t admissions = 0;

  /// A client of choice `choice` of a request that was submitted.
  static std::unique_ptr<Client> make(const Request& request, std::uint32_t choice,
                                      std::int64_t context);
  /// Takes a piece, which has to be the next token. False when there is none.
  bool read();
  /// Checks how it ended, which `stream` has to know.
  void check_outcome(const Circumstances& around,
                     const std::vector<std::unique_ptr<Client>>& all) const;
  /// The event that its end is.
  Event end_event(const Circumstances& around) const;

 private:
  void check_reason(const Outcome& outcome, const Circumstances& around) const;
  void check_error(const Outcome& outcome, const Circumstances& around) const;
  void check_cached(const Outcome& outcome, const Circumstances& around,
                    const std::vector<std::unique_ptr<Client>>& all) const;
  void check_rows(const Outcome& outcome) const;
};

}  // namespace ingot::sim
