// Error messages for failed requests to the Hugging Face hub; they say what the user can do.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "hub/http.h"
#include "hub/pull.h"

namespace ingot {

/// A short description of a failure: "the server answered 503", "could not resolve host: ...".
std::string problem_text(const HttpReply& reply);

/// The error for a failed request. `what` is the requested repository or file.
///
/// Source: the hub's X-Error-Code values: huggingface_hub, hf_raise_for_status.
Error hub_error(const HttpReply& reply, const ModelName& name, std::string_view what,
                const HubOptions& options);

}  // namespace ingot
