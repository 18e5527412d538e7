// Timeline: records what one streamed response holds, and when each part of it arrives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/client/answer_events.h"
#include "bench/client/sse_reader.h"

namespace ingot {

/// The result of one request. Times are seconds since the run began.
struct CallResult {
  double sent = 0;    ///< time at which sending began
  double first = 0;   ///< arrival of the first piece of text
  double last = 0;    ///< arrival of the last piece of text; the response's end if there is none
  double answer = 0;  ///< arrival of the response's head
  std::vector<double> gaps{};  ///< seconds between consecutive pieces of text
  int status = 0;              ///< HTTP status; 0 if there was no response
  std::string error{};         ///< why the request failed, in one line; empty on success
  std::string text{};          ///< the response's text, if it is kept
  std::string finish_reason{};
  std::optional<AnswerUsage> usage{};  ///< absent if the server sends no token counts
  std::size_t pieces = 0;  ///< number of pieces of text; a token without text counts as one

  /// Whether the server refused the request because of its load. This is not a failure.
  bool is_rejected() const { return status == 429 || status == 503; }
  /// The number of output tokens as the server reports it; otherwise the number of pieces.
  std::int64_t output_tokens() const {
    return usage ? usage->completion_tokens : static_cast<std::int64_t>(pieces);
  }
};

/// Follows one response from its head to its end. It has no clock: callers pass times.
class Timeline {
 public:
  /// `sent` is the time at which sending began. `keep_text`: whether to fill `CallResult::text`.
  Timeline(double sent, bool keep_text);

  /// Call when the response's head has arrived.
  void head(int status, bool is_stream, double now);
  /// Call when a part of the body has arrived. Returns false to stop reading.
  [[nodiscard]] bool body(std::string_view bytes, double now);
  /// Call when the response has ended. `problem` is an error in one line; empty if none.
  void end(const std::string& problem, double now);

  /// The result; valid after `end`.
  CallResult& result() { return result_; }

 private:
  void take(const AnswerEvent& event, double now);
  void take_piece(std::string_view text, double now);
  void end_plain(double now);

  CallResult result_;
  SseReader sse_;
  std::vector<SseEvent> events_;
  std::string plain_;  ///< the body of a response that is not a stream
  bool keep_text_;
  bool is_stream_ = false;
  bool is_done_ = false;
};

}  // namespace ingot
