// The variables by which the hub's own tools are configured, which hold here too.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "hub/pull.h"

namespace ingot {

/// A variable and what it means.
struct EnvironmentVariable {
  std::string_view name;
  std::string_view meaning;
};

/// All that are read, for help and manual pages.
std::span<const EnvironmentVariable> hub_environment();

/// The variables as text, for the end of a command's help.
std::string hub_environment_text();

/// The folder of the hub's cache; empty when nothing says where it could be.
///
/// Source: huggingface_hub, environment variables.
std::string hub_cache_folder();

/// Everything about the hub.
///
/// Errors: Error{kInvalid} naming the variable whose value is not possible.
HubOptions hub_options();

}  // namespace ingot
