// What the requests of several endpoints contain: sampling, scheduling, limits, streaming.
#pragma once

#include <cstdint>
#include <string_view>

#include "load/json.h"
#include "runtime/request_fields.h"
#include "server/common/params.h"
#include "server/common/service.h"

namespace ingot {

/// Reads the request fields of an endpoint, except those that the endpoint reads itself. Absent
/// fields get the defaults of the model and the server. Errors: ApiError naming the member.
void read_fields(Params& params, const Call& call, Request& request, Places where);
/// Sets max_tokens from the endpoint's members for it, at least `least`. A value beyond the room
/// behind the prompt is clamped, with a warning.
void read_max_tokens(Params& params, const Call& call, Request& request, Places where,
                     std::int64_t least = 1);
/// Reads the members about tools, which are not supported. Errors: ApiError naming the member.
void read_tools(Params& params);
/// Refuses the members that would constrain or change a reply in ways that are not supported.
/// Errors: ApiError naming the member.
void refuse_constraints(Params& params);
/// Reads the members of OpenAI's clients that have no effect here, and refuses unsupported ones.
void read_unsupported(Params& params);
/// Whether a response is a stream, and whether the stream ends with its usage.
struct StreamParams {
  bool stream = false;
  bool include_usage = false;
};
StreamParams read_stream(Params& params);
/// The JSON document in a request's body. Errors: ApiError.
Json read_body(const Call& call);

}  // namespace ingot
