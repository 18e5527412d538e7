// Error messages for failed requests to the hub, which say what the user can do.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "hub/http.h"
#include "hub/pull.h"

namespace ingot {

/// The failure in short: "the server answered 503", "could not resolve host: ...".
std::string problem_text(const HttpReply& reply);

/// The error that ends a pull after this reply to a request for `what` (a repository or a file).
///
/// Source: the hub's X-Error-Code values: huggingface_hub, hf_raise_for_status.
Error hub_error(const HttpReply& reply, const ModelName& name, std::string_view what,
                const HubOptions& options);

}  // namespace ingot
