// What an event of a streamed answer says: a piece of text, its end, its usage, an error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ingot {

/// The counts that a server gives.
struct AnswerUsage {
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;
  std::int64_t completion_tokens = 0;
  bool says_cached = false;  ///< a server that does not say has perhaps no cache, perhaps one
};

/// One event, or a whole answer that is no stream.
struct AnswerEvent {
  std::string text{};      ///< reasoning and answer alike
  bool has_token = false;  ///< a token, also one without text: half a character, a control token
  std::string finish_reason{};  ///< empty unless the choice ends
  std::optional<AnswerUsage> usage{};
  std::string error{};  ///< one line; empty without one
  bool is_done = false;
};

/// Reads the data of an event of chats or completions, in any of the spellings of servers. What is
/// no JSON object has an `error`.
AnswerEvent read_answer_event(std::string_view data);

/// The message of an error's body: of OpenAI's form, or of the others that servers have.
std::string error_message(std::string_view body);

/// The id of the first model in the answer to GET /v1/models; empty where there is none.
std::string first_model(std::string_view body);

}  // namespace ingot
