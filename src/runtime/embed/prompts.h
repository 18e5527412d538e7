// Prompts of embedders: texts that stand before each input, chosen by name or kind of input.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "load/embedder.h"

namespace ingot {

/// Returns the prompt named `name`; without a name, the model's default prompt, or "".
///
/// Errors: Error{kInvalid} if the model has no prompt of this name. It names the model's prompts.
std::string_view prompt_named(const EmbedderSettings& settings,
                              const std::optional<std::string>& name);

/// Returns the prompt for a kind of input, as APIs name it: "query", "search_document",
/// "retrieval.passage". A prompt of exactly this name comes first. Nothing if the model has no such
/// prompt.
std::optional<std::string_view> prompt_for(const EmbedderSettings& settings,
                                           std::string_view input_type);

/// Returns what the model reads for an input: `prompt` and `text`, in lower case if it expects
/// that.
std::string input_text(const EmbedderSettings& settings, std::string_view prompt,
                       std::string_view text);

}  // namespace ingot
