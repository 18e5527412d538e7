// Parses one event of a streamed response: text, finish reason, usage or error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ingot {

/// Token counts that a server reports with a response.
struct AnswerUsage {
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;
  std::int64_t completion_tokens = 0;
  bool says_cached = false;  ///< whether the server reported cached tokens
};

/// One event of a stream, or a whole response.
struct AnswerEvent {
  std::string text{};           ///< text of the reasoning and of the content
  bool has_token = false;       ///< whether the event has a token, even a token without text
  std::string finish_reason{};  ///< why the choice ended; empty if it did not end yet
  std::optional<AnswerUsage> usage{};
  std::string error{};  ///< error message in one line; empty if there is no error
  bool is_done = false;
};

/// Parses the data of one event of a chat or completion response. Accepts the JSON member names of
/// several common servers. Sets `error` if the data is not a JSON object.
AnswerEvent read_answer_event(std::string_view data);

/// Returns the error message in `body`, an error response in OpenAI's or another server's form.
std::string error_message(std::string_view body);

/// Returns the id of the first model in a response to GET /v1/models; empty if it lists no model.
std::string first_model(std::string_view body);

}  // namespace ingot
