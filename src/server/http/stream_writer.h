// StreamWriter: turns a generation's deltas into the bytes of its HTTP response.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "runtime/delta.h"
#include "server/http/request_handler.h"

namespace ingot {

/// Writes the deltas of all choices of a generation as server-sent events, or as one body if the
/// request asked for no stream. It has no socket and never waits.
class StreamWriter {
 public:
  /// All references must outlive the writer. `head`: bytes to send before all events. With
  /// `is_chunked`, each `take` returns a chunk. The writer sets token counts, PrefixMiss and status
  /// in `end`. It also copies the response's first `content_bytes_max` bytes to `end`.
  StreamWriter(RunningGeneration& running, RequestEnd& end, std::string head, bool is_chunked,
               std::size_t content_bytes_max)
      : running_(running),
        end_(end),
        head_(std::move(head)),
        is_chunked_(is_chunked),
        content_bytes_max_(content_bytes_max),
        first_choices_(running.streams.size()),
        has_ended_(running.streams.size() + running.later_choices),
        dropped_(has_ended_.size()),
        left_(has_ended_.size()) {
    end_.adapters = names_of(running.adapters);
  }

  /// Takes the available deltas, up to some 64 KiB of events. Lets later choices begin in the place
  /// of choices that ended. Returns false if no delta and no end came.
  bool collect();
  /// For a generation that was cancelled: drops what the engine still delivers, and counts the
  /// choices that have ended. Returns whether all choices that began have ended.
  bool drop_rest();
  /// Whether all choices have ended.
  bool has_ended() const { return left_ == 0; }
  /// Returns the outcome of a choice that failed or was cancelled; null: no choice failed.
  const Outcome* failed() const { return failed_; }
  /// Whether there are events to send.
  bool has_events() const { return !events_.empty(); }
  /// Whether `take` has returned the head.
  bool has_begun() const { return has_begun_; }

  /// Adds a comment to the stream, to show the client that the connection lives.
  void write_ping() { events_ += ": still at work\n\n"; }
  /// Returns the buffer for the event of a failure. No other event may follow that event.
  std::string& events() { return events_; }
  /// Adds the last events, or the whole body. Called after all choices have ended.
  void finish() { running_.writer->finish(events_); }

  /// Returns the bytes to send for the events since the last call. `is_last` ends the response.
  std::string take(bool is_last);
  /// Returns the body of a response that is not a stream. Called after `finish`.
  std::string take_body() { return std::move(events_); }

 private:
  /// How many of a choice's deltas an event took: none, all, or as many as fit.
  enum class Taken { kNothing, kAll, kFull };

  Taken take_deltas(std::size_t choice);
  void end_choice(std::size_t choice, const Outcome& outcome);
  void count_end(std::size_t choice, const Outcome& outcome);
  void begin_later();

  RunningGeneration& running_;
  RequestEnd& end_;
  std::string head_;
  bool is_chunked_;
  std::size_t content_bytes_max_;
  std::size_t first_choices_;  ///< number of choices that began with the generation
  bool has_begun_ = false;
  std::string events_;
  std::vector<bool> has_ended_;  ///< whether each choice has ended
  /// Number of tokens that each choice had after ResponseWriter::wants_end.
  std::vector<std::int64_t> dropped_;
  std::size_t left_;  ///< number of choices that have not ended
  const Outcome* failed_ = nullptr;
  Outcome never_begun_;  ///< outcome of a later choice that could not begin
  Delta delta_;          ///< the newest delta; its memory is reused
};

}  // namespace ingot
