// JSON that several endpoints write: usage, log-probabilities, token ids, events.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "load/json.h"
#include "runtime/stream.h"
#include "server/common/model_choice.h"
#include "server/common/service.h"

namespace ingot {

/// Formats a string as JSON, with quotes.
std::string json_string(std::string_view text);
/// Returns the log-probability, or -9999 if it is not finite, because JSON has no infinities.
double finite_logprob(float logprob);
/// Makes a token's entry in a chat's logprobs: {"token", "logprob", "bytes", "top_logprobs"}.
Json chat_logprob(const Service& service, const TokenLogprobs& logprobs);
/// Returns a token's text. U+FFFD replaces bytes that are not a whole character.
std::string token_text(const Service& service, std::int32_t id);
/// Makes a JSON array of token ids.
Json ids_json(std::span<const std::int32_t> ids);

/// Formats the beginning of a response, or of each chunk of a stream: members from "id" to
/// "system_fingerprint" and "seed", without the closing brace.
std::string response_head_json(const ChosenModel& model, std::string_view id,
                               std::string_view object, std::int64_t created, const Json& seed);

/// Returns the source of the template for chats without tools; null if the model has no template.
Json chat_source_json(const Service& service);

/// Token counts of a whole response.
struct Usage {
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;
  std::int64_t completion_tokens = 0;
  std::int64_t reasoning_tokens = 0;
  std::int64_t predicted_tokens = 0;  ///< drafts that come from Request::prediction
  std::int64_t accepted_predicted_tokens = 0;

  /// Adds the tokens of a choice. For a prompt's first choice, also adds the prompt's tokens.
  void add(const Outcome& outcome, bool is_first_choice);
  /// Returns the counts as {"prompt_tokens", "completion_tokens", "total_tokens", ...}.
  Json json() const;
  /// Returns the three counts that are known before the end, as JSON text.
  std::string json_so_far() const;
};

/// Formats the usage of a response without generated tokens: {"prompt_tokens", "total_tokens"}.
std::string usage_json(std::int64_t prompt_tokens);

/// Appends a server-sent event: "data: {json}\n\n".
void append_event(std::string& out, std::string_view json);
/// Appends a named server-sent event: "event: name\ndata: {json}\n\n".
void append_event(std::string& out, std::string_view name, const Json& json);
/// The text before and after the JSON of a server-sent event.
inline constexpr std::string_view kEventBegin = "data: ";
inline constexpr std::string_view kEventEnd = "\n\n";
/// The last event of OpenAI's streams.
inline constexpr std::string_view kDoneEvent = "data: [DONE]\n\n";

}  // namespace ingot
