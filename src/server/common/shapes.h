// Pieces of JSON that several endpoints have alike.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "load/json.h"
#include "runtime/request_fields.h"
#include "runtime/stream.h"
#include "server/common/params.h"
#include "server/common/service.h"

namespace ingot {

/// A string as JSON, with its quotes.
std::string json_string(std::string_view text);
/// A logarithm as JSON can say it: -9999 for minus infinity.
double finite_logprob(float logprob);
/// {"token", "logprob", "bytes", "top_logprobs"} of a chat.
Json chat_logprob(const Service& service, const TokenLogprobs& logprobs);
/// A token's bytes as text: what is no whole character is U+FFFD.
std::string token_text(const Service& service, std::int32_t id);
/// Token ids as an array.
Json ids_json(std::span<const std::int32_t> ids);

/// What all chunks of a stream and its whole response begin with: an object's members from "id" to
/// "system_fingerprint", without the closing brace.
std::string chunk_head(const Service& service, std::string_view id, std::string_view object,
                       std::int64_t created);

/// Tokens of a whole response.
struct Usage {
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;
  std::int64_t completion_tokens = 0;
  std::int64_t reasoning_tokens = 0;

  /// Counts a choice; its prompt where it is the first of that prompt.
  void add(const Outcome& outcome, bool is_first_choice);
  /// {"prompt_tokens", "completion_tokens", "total_tokens", ...}
  Json json() const;
};

/// "data: {json}\n\n"
void append_event(std::string& out, std::string_view json);
/// "event: name\ndata: {json}\n\n"
void append_event(std::string& out, std::string_view name, const Json& json);
/// What stands around an event's JSON.
inline constexpr std::string_view kEventBegin = "data: ";
inline constexpr std::string_view kEventEnd = "\n\n";
/// The end of OpenAI's streams.
inline constexpr std::string_view kDoneEvent = "data: [DONE]\n\n";

/// Reads the request fields of an endpoint, but for those that it reads apart. Fields that the
/// request lacks get the defaults of the model and the server. Errors: ApiError naming the member.
void read_fields(Params& params, const Call& call, Request& request, Places where);
/// Sets max_tokens from the members of an endpoint that mean it. A request for more tokens than fit
/// behind its prompt gets those that fit, with a warning. `least` is the smallest possible value.
void read_max_tokens(Params& params, const Call& call, Request& request, Places where,
                     std::int64_t least = 1);
/// The members that say which tools there are, which is none. Errors: ApiError naming the member.
void read_tools(Params& params);
/// Members that would constrain or change a reply in ways that there are not: refused on every
/// endpoint, whoever's shapes it has. Errors: ApiError naming the member.
void refuse_constraints(Params& params);
/// Members that OpenAI's clients send and that change nothing here, and those that cannot be
/// honoured.
void read_unsupported(Params& params);
/// How a response is streamed: `stream`, and whether it ends with its usage.
struct StreamParams {
  bool stream = false;
  bool include_usage = false;
};
StreamParams read_stream(Params& params);
/// The document in a request's body. Errors: ApiError.
Json read_body(const Call& call);

}  // namespace ingot
