// Timeline: records the pieces of one streamed response, and the time at which each piece arrives.
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
  double first = 0;   ///< arrival of the first piece of text; if there is none, the response's end
  double last = 0;    ///< arrival of the last piece of text; if there is none, the response's end
  double answer = 0;  ///< arrival of the response's head
  std::vector<double> gaps{};  ///< seconds between consecutive pieces of text
  int status = 0;              ///< HTTP status; 0 if there was no response
  std::string error{};         ///< why the request failed, in one line; empty on success
  std::string text{};          ///< text of the response; empty if it is not kept
  std::string finish_reason{};
  std::optional<AnswerUsage> usage{};  ///< token counts; absent if the server sends none
  std::size_t pieces = 0;  ///< number of pieces of text; a token without text counts as a piece

  /// Returns whether the server was too busy for the request, which does not count as a failure.
  bool is_rejected() const { return status == 429 || status == 503; }
  /// Returns the server's count of output tokens, or the number of pieces if it sends no counts.
  std::int64_t output_tokens() const {
    return usage ? usage->completion_tokens : static_cast<std::int64_t>(pieces);
  }
};

/// Follows one response from its head to its end. It has no clock: callers pass times.
class Timeline {
 public:
  /// `sent` is the time at which sending began. `keep_text`: whether to fill `CallResult::text`.
  Timeline(double sent, bool keep_text);

  /// Records the response's head, which arrived at `now`.
  void head(int status, bool is_stream, double now);
  /// Records a part of the body, which arrived at `now`. Returns false to stop reading.
  [[nodiscard]] bool body(std::string_view bytes, double now);
  /// Records the response's end. `problem` is an error in one line; empty if there is none.
  void end(const std::string& problem, double now);

  /// Returns the result; valid after `end`.
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
