// Environment variables of the Hugging Face hub's tools, which ingot reads too.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "hub/pull.h"

namespace ingot {

/// An environment variable and its meaning.
struct EnvironmentVariable {
  std::string_view name;
  std::string_view meaning;
};

/// Returns all variables that ingot reads, for help and manual pages.
std::span<const EnvironmentVariable> hub_environment();

/// Returns the variables as text, for the end of a command's help.
std::string hub_environment_text();

/// Returns the folder of the hub's cache; empty if neither a variable nor a home folder is set.
///
/// Source: huggingface_hub, environment variables.
std::string hub_cache_folder();

/// Reads a model's name or address, as `read_model_name` does with the endpoint in the environment.
///
/// Errors: those of read_model_name; for an address, Error{kInvalid} naming HF_ENDPOINT if that is
///         wrong. Names need no endpoint.
std::optional<ModelName> hub_model_name(const std::string& text);

/// Reads the settings for access to the hub from the environment.
///
/// Errors: Error{kInvalid} naming a variable with an invalid value.
HubOptions hub_options();

}  // namespace ingot
