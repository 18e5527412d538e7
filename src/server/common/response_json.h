// What the responses of several endpoints contain: usage, log-probabilities, token ids, events.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "load/json.h"
#include "runtime/stream.h"
#include "server/common/service.h"

namespace ingot {

/// A string as JSON, with its quotes.
std::string json_string(std::string_view text);
/// A logarithm that JSON can hold: -9999 for minus infinity.
double finite_logprob(float logprob);
/// A token's {"token", "logprob", "bytes", "top_logprobs"} in a chat.
Json chat_logprob(const Service& service, const TokenLogprobs& logprobs);
/// A token's bytes as text; U+FFFD stands for parts of characters.
std::string token_text(const Service& service, std::int32_t id);
/// Token ids as an array.
Json ids_json(std::span<const std::int32_t> ids);

/// The beginning of a response, or of each chunk of a stream: members from "id" to
/// "system_fingerprint", without the closing brace.
std::string response_head_json(const Service& service, std::string_view id, std::string_view object,
                               std::int64_t created);

/// Tokens of a whole response.
struct Usage {
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;
  std::int64_t completion_tokens = 0;
  std::int64_t reasoning_tokens = 0;

  /// Counts a choice, and its prompt for the prompt's first choice.
  void add(const Outcome& outcome, bool is_first_choice);
  /// {"prompt_tokens", "completion_tokens", "total_tokens", ...}
  Json json() const;
};

/// "data: {json}\n\n"
void append_event(std::string& out, std::string_view json);
/// "event: name\ndata: {json}\n\n"
void append_event(std::string& out, std::string_view name, const Json& json);
/// The text around an event's JSON.
inline constexpr std::string_view kEventBegin = "data: ";
inline constexpr std::string_view kEventEnd = "\n\n";
/// The end of OpenAI's streams.
inline constexpr std::string_view kDoneEvent = "data: [DONE]\n\n";

}  // namespace ingot
