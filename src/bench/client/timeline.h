// Timeline: what came of one streamed request, and when. It has no clock: times are handed in.
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

/// What became of a call. Times are seconds since some moment, the same for all calls.
struct CallResult {
  double sent = 0;             ///< when the request began to be sent
  double first = 0;            ///< the first piece
  double last = 0;             ///< the newest one, or the end of an answer without any
  double answer = 0;           ///< when the head of the response had come
  std::vector<double> gaps{};  ///< from each piece to the next
  int status = 0;              ///< of HTTP; 0 where no response came
  std::string error{};         ///< what ended it early, on one line; empty where nothing did
  std::string text{};          ///< of calls whose text is kept
  std::string finish_reason{};
  std::optional<AnswerUsage> usage{};  ///< where the server says it
  std::size_t pieces = 0;              ///< of text, empty ones that stand for a token too

  /// Refused by a server that has enough to do: no failure of it.
  bool is_rejected() const { return status == 429 || status == 503; }
  /// Tokens as the server counts them; where it does not, pieces.
  std::int64_t output_tokens() const {
    return usage ? usage->completion_tokens : static_cast<std::int64_t>(pieces);
  }
};

/// Follows one response from its head to its end.
class Timeline {
 public:
  /// The request goes out at `sent`; `keep_text` whether `CallResult::text` is wanted.
  Timeline(double sent, bool keep_text);

  /// The response's head came.
  void head(int status, bool is_stream, double now);
  /// Some of its body came. False where nothing more is of use.
  [[nodiscard]] bool body(std::string_view bytes, double now);
  /// Nothing more comes; `problem` says why not, on one line, and is empty after a whole response.
  void end(const std::string& problem, double now);

  /// What became of it; after `end`.
  CallResult& result() { return result_; }

 private:
  void take(const AnswerEvent& event, double now);
  void take_piece(std::string_view text, double now);
  void end_plain(double now);

  CallResult result_;
  SseReader sse_;
  std::vector<SseEvent> events_;
  std::string plain_;  ///< the body of a response that is no stream
  bool keep_text_;
  bool is_stream_ = false;
  bool is_done_ = false;
};

}  // namespace ingot
