// Request members that several endpoints share: sampling, scheduling, limits, streaming.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "load/json.h"
#include "runtime/request_fields.h"
#include "server/common/params.h"
#include "server/common/service.h"

namespace ingot {

/// Reads the request fields of the endpoint `where`, except fields that the endpoint reads itself.
/// Absent fields get defaults of the model and the server. Errors: ApiError naming the member.
void read_fields(Params& params, const Call& call, Request& request, Places where);
/// Returns the seed for the response: the seed that was drawn, or the member `seed` as it was sent.
Json used_seed(Params& params, const Request& request);
/// Reads a limit on generated tokens. Valid are -1 (no limit) and `least` to `most`. Errors:
/// ApiError naming the member.
std::optional<std::int64_t> read_limit(Params& params, std::string_view name, std::int64_t least,
                                       std::int64_t most);
/// Sets `max_tokens` from the members that the endpoint has for this limit. `least` is the smallest
/// valid value. -1 and null mean no limit but the context. If another value exceeds the room after
/// the prompt, lowers it and adds a warning.
void read_max_tokens(Params& params, const Call& call, Request& request, Places where,
                     std::int64_t least = 1);
/// Refuses tools, which the endpoint does not have, unless `tool_choice` is "none". Errors:
/// ApiError naming the member.
void refuse_tools(Params& params, std::string_view endpoint);
/// Refuses members that would change a reply in unsupported ways. Errors: ApiError naming the
/// member.
void refuse_unsupported(Params& params);
/// Like `refuse_unsupported`. Also refuses constraints and older tools, for endpoints that have
/// none. Errors: ApiError naming the member.
void refuse_constraints(Params& params);
/// Reads `service_tier`. Values besides `usual` ask for another speed or price, so they add a
/// warning.
void read_service_tier(Params& params, std::initializer_list<std::string_view> usual);
/// Warns about members of OpenAI's API that have no effect here.
void read_without_effect(Params& params);
/// Calls `refuse_constraints`, `refuse_tools` and `read_without_effect`.
void read_unsupported(Params& params, std::string_view endpoint);
/// Whether a response is a stream, and where the stream has token counts.
struct StreamParams {
  bool stream = false;
  bool include_usage = false;    ///< in a last chunk
  bool usage_in_chunks = false;  ///< in each chunk with a choice: the counts so far
};
StreamParams read_stream(Params& params);
/// Parses a request's body as JSON. Errors: ApiError{invalid_json}.
Json read_body(const Call& call);

}  // namespace ingot
