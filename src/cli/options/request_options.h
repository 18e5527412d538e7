// Options for continuing a prompt (sampling, limits), made from the table of request fields.
#pragma once

#include <cstdint>

#include "runtime/instance.h"
#include "runtime/request_fields.h"

namespace CLI {
class App;
}

namespace ingot {

/// Declares the flags of `command`, which is place::kRun or place::kTalk. `request` holds the
/// flags' defaults, receives their values, and must live as long as `app`.
///
/// Errors: while parsing, Error{kInvalid} naming the flag and the text.
void add_request_options(CLI::App& app, Request& request, Places command);

/// Copies request fields from `from` to `to`, but only fields whose flags the user gave to `app`.
void copy_given(Request& to, const Request& from, const CLI::App& app, Places command);

/// Returns the limits on requests to this model. `ctx`: --ctx; 0: the model's own context.
RequestLimits request_limits(const Instance& instance, std::int64_t ctx);

}  // namespace ingot
