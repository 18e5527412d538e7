// Client: one request as its sender sees it, and its expected results.
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

/// How many deltas a reader takes at once.
enum class Pace { kAll, kOne, kNone };

/// Events of a world that may end a request early.
struct Circumstances {
  bool forced = false;            ///< the engine was stopped, or its time to drain is over
  bool failed = false;            ///< every step fails from now on
  double stall_seconds = kNever;  ///< the engine cancels a request whose reader stalls for longer
  bool prefix_cache = false;      ///< without it, only forks begin with cached rows
  std::int64_t losses = 0;        ///< times that all running requests ended without memory
  std::int64_t refusals = 0;      ///< times that available blocks were refused
  std::size_t deltas_max = 0;
  std::int32_t preemptions_max = 0;
};

/// A submitted request.
struct Client {
  Job job;
  std::optional<Stream> stream;

  // The request.
  std::int64_t limit = 0;  ///< tokens at most
  std::int64_t scores_from = -1;
  RowRange hidden;  ///< rows of the prompt with a hidden state
  bool is_pooled = false;
  bool is_live = false;
  std::uint64_t tenant = 0;
  std::int32_t priority = 0;
  bool is_fork = false;
  bool reads_cache = true;
  bool uses_drafts = true;
  bool has_deadline = false;
  FinishReason finish = FinishReason::kLength;  ///< its end without other events
  std::int32_t stop = -1;                       ///< the stop string that ends it then
  std::string text_wanted;                      ///< its whole text then

  // What happened.
  Pace pace = Pace::kAll;
  double read_at = 0;   ///< time of the last delta read before its end, or of its arrival
  double ended_at = 0;  ///< time of its end
  std::int64_t cancelled_at = -1;  ///< tick of its cancellation
  bool is_dropped = false;
  std::int64_t delivered = 0;
  std::string text;  ///< delivered so far
  State state = State::kInbox;
  State ended_from = State::kInbox;
  std::int64_t seen_first = -1;  ///< first tick in which the engine had it
  std::int64_t seen_at = -1;     ///< last tick in which the engine had it
  std::uint32_t admissions = 0;

  /// A client for choice `choice` of a submitted request.
  static std::unique_ptr<Client> make(const Request& request, std::uint32_t choice,
                                      std::int64_t context);
  /// Reads a delta and checks that it is the next token. False without a delta.
  bool read();
  /// Checks the outcome of an ended `stream`.
  void check_outcome(const Circumstances& around,
                     const std::vector<std::unique_ptr<Client>>& all) const;
  /// The event that ended it.
  Event end_event(const Circumstances& around) const;

 private:
  void draw_text(const Request& request);
  void check_drafts(const Outcome& outcome) const;
  void check_reason(const Outcome& outcome, const Circumstances& around) const;
  void check_error(const Outcome& outcome, const Circumstances& around) const;
  void check_cached(const Outcome& outcome, const Circumstances& around,
                    const std::vector<std::unique_ptr<Client>>& all) const;
  void check_rows(const Outcome& outcome) const;
};

}  // namespace ingot::sim
