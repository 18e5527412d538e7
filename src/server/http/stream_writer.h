// StreamWriter: turns a generation's deltas into the bytes of its response.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "runtime/delta.h"
#include "server/http/request_handler.h"

namespace ingot {

/// Takes the deltas of all choices of one generation and writes them as server-sent events, or as
/// one body where the request asked for no stream. It knows no socket and waits for nothing.
class StreamWriter {
 public:
  /// The references outlive this. `head` goes out in front of the first event; with `is_chunked`
  /// each write is a chunk. `end` is told of tokens, of how it ended and of the first
  /// `content_bytes_max` bytes.
  StreamWriter(RunningGeneration& running, RequestEnd& end, std::string head, bool is_chunked,
               std::size_t content_bytes_max)
      : running_(running),
        end_(end),
        head_(std::move(head)),
        is_chunked_(is_chunked),
        content_bytes_max_(content_bytes_max),
        has_ended_(running.streams.size()),
        left_(running.streams.size()) {}

  /// Takes what the streams have now, up to some 64 KiB of events; false where they have nothing.
  bool collect();
  /// Whether all choices have ended.
  bool has_ended() const { return left_ == 0; }
  /// The outcome of a choice that failed or was cancelled; null while all go well.
  const Outcome* failed() const { return failed_; }
  /// Whether there are events to send.
  bool has_events() const { return !events_.empty(); }
  /// Whether the head has been taken.
  bool has_begun() const { return has_begun_; }

  /// Adds a comment, so that the other end sees a connection that lives.
  void write_ping() { events_ += ": still at work\n\n"; }
  /// Where a failure's event is appended; nothing comes behind it.
  std::string& events() { return events_; }
  /// After all choices have ended: adds the last events, or the whole body.
  void finish() { running_.writer->finish(events_); }

  /// The bytes to send for the events since the last call; `is_last` ends the response.
  std::string take(bool is_last);
  /// The body of a response that is no stream, after `finish`.
  std::string take_body() { return std::move(events_); }

 private:
  /// What an event takes of a stream: nothing, all that there was, or as much as fits.
  enum class Taken { kNothing, kAll, kFull };

  Taken take_deltas(std::size_t choice);
  void end_choice(std::size_t choice, const Outcome& outcome);

  RunningGeneration& running_;
  RequestEnd& end_;
  std::string head_;
  bool is_chunked_;
  std::size_t content_bytes_max_;
  bool has_begun_ = false;
  std::string events_;
  std::vector<bool> has_ended_;  ///< by choice
  std::size_t left_;             ///< choices that have not ended
  const Outcome* failed_ = nullptr;
  Delta delta_;  ///< the newest one, whose memory is used again
};

}  // namespace ingot
