// Reads one event of a streamed response: text, finish reason, usage or error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ingot {

/// The token counts of a response.
struct AnswerUsage {
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;
  std::int64_t completion_tokens = 0;
  bool says_cached = false;  ///< false: the server may or may not have a prefix cache
};

/// One event of a stream, or a whole response.
struct AnswerEvent {
  std::string text{};           ///< reasoning and content
  bool has_token = false;       ///< true also for a token without text, as half a character
  std::string finish_reason{};  ///< empty unless the choice ends
  std::optional<AnswerUsage> usage{};
  std::string error{};  ///< one line; empty without one
  bool is_done = false;
};

/// Reads an event's data, of a chat or completion, in the spellings of common servers. Sets `error`
/// for data that is not a JSON object.
AnswerEvent read_answer_event(std::string_view data);

/// The message in an error's body, in OpenAI's form or that of other servers.
std::string error_message(std::string_view body);

/// The id of the first model in the response to GET /v1/models; empty when it lists none.
std::string first_model(std::string_view body);

}  // namespace ingot
