// Calls of tools in the messages of a chat: converts them to one form.
#pragma once

#include <string>

#include "load/json.h"
#include "server/common/params.h"

namespace ingot {

/// Makes a call in the form that templates expect: {"id", "type": "function", "function": {"name",
/// "arguments"}}. `arguments` is JSON text. It becomes an object. An empty text becomes an empty
/// object. Text that is no JSON object stays text, with a warning "not_json" about `place`, which
/// names the arguments.
Json make_call(Params* params, const std::string& place, const std::string& id,
               const std::string& name, const Json& arguments);
/// Like `make_call`, for a custom tool, whose input is text: the arguments are {"input": text}.
Json make_custom_call(const std::string& id, const std::string& name, const std::string& input);

/// Converts the `tool_calls` of a message at `place`, such as "messages[3].tool_calls". Errors:
/// ApiError naming the call.
Json normalised_calls(Params* params, const std::string& place, const Json& calls);
/// Converts the older `function_call` of a message to a list of one call.
Json normalised_function_call(Params* params, const std::string& place, const std::string& id,
                              const Json& call);

}  // namespace ingot
