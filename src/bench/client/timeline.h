// Timeline: the result of one streamed request with its times. It has no clock: callers pass times.
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

/// The result of one request. Times are seconds since a moment common to all requests.
struct CallResult {
  double sent = 0;             ///< when sending began
  double first = 0;            ///< the first piece
  double last = 0;             ///< the newest piece; the end of a response without pieces
  double answer = 0;           ///< when the response's head was complete
  std::vector<double> gaps{};  ///< from each piece to the next
  int status = 0;              ///< HTTP status; 0 without a response
  std::string error{};         ///< why it ended early, in one line; empty on success
  std::string text{};          ///< the text, when it is kept
  std::string finish_reason{};
  std::optional<AnswerUsage> usage{};  ///< absent when the server sends none
  std::size_t pieces = 0;              ///< pieces of text, including empty ones for a token

  /// Whether an overloaded server refused it, which is not a failure.
  bool is_rejected() const { return status == 429 || status == 503; }
  /// The server's token count; without one, the number of pieces.
  std::int64_t output_tokens() const {
    return usage ? usage->completion_tokens : static_cast<std::int64_t>(pieces);
  }
};

/// Follows one response from its head to its end.
class Timeline {
 public:
  /// The request is sent at `sent`; `keep_text` fills `CallResult::text`.
  Timeline(double sent, bool keep_text);

  /// The response's head arrived.
  void head(int status, bool is_stream, double now);
  /// A part of the body arrived. Returns false to stop reading.
  [[nodiscard]] bool body(std::string_view bytes, double now);
  /// The response ended; `problem` is the error in one line, empty for a complete response.
  void end(const std::string& problem, double now);

  /// The result; after `end`.
  CallResult& result() { return result_; }

 private:
  void take(const AnswerEvent& event, double now);
  void take_piece(std::string_view text, double now);
  void end_plain(double now);

  CallResult result_;
  SseReader sse_;
  std::vector<SseEvent> events_;
  std::string plain_;  ///< the body of a response without a stream
  bool keep_text_;
  bool is_stream_ = false;
  bool is_done_ = false;
};

}  // namespace ingot
