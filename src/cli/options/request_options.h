// The options that say how a prompt is continued, declared from the table of request fields.
#pragma once

#include <cstdint>

#include "runtime/instance.h"
#include "runtime/request_fields.h"

namespace CLI {
class App;
}

namespace ingot {

/// Declares the flags of a command, place::kRun or place::kTalk. `request` holds their defaults,
/// gets their values, and lives as long as the application.
///
/// Errors: while parsing, Error{kInvalid} naming the flag and the text.
void add_request_options(CLI::App& app, Request& request, Places command);

/// Copies the fields that the command line of `app` gave flags for.
void copy_given(Request& to, const Request& from, const CLI::App& app, Places command);

/// What a request of this model may ask for, with --ctx `ctx` (0 = the model's).
RequestLimits request_limits(const Instance& instance, std::int64_t ctx);

}  // namespace ingot
