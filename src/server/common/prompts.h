// Reads the prompts of completions and embeddings: texts or token ids.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/common/params.h"
#include "server/common/service.h"

namespace ingot {

/// A prompt's tokens, and its text in the request. The text is null if the request has token ids.
struct ReadPrompt {
  std::vector<std::int32_t> ids;
  const std::string* text = nullptr;
};

/// How `read_prompts` makes tokens of texts.
struct PromptForm {
  TextUse use = TextUse::kPrompt;
  /// If not empty, the model writes the text between each text of `name` and this suffix.
  std::string suffix{};
};

/// Reads the member `name`: a string, a list of at most `most` strings, a list of ids, or a list of
/// at most `most` lists of ids. A prompt has at least one token and leaves room for one more.
///
/// Errors: ApiError naming the JSON member, or the entry of its list; context_length_exceeded;
/// those of Call::require_wanted.
std::vector<ReadPrompt> read_prompts(Params& params, std::string_view name, std::int32_t most,
                                     const Call& call, const PromptForm& form);

/// Reads a list of token ids below the vocabulary's size. `place` is the list's path in the body.
/// Errors: ApiError naming the entry.
std::vector<std::int32_t> read_ids(const Json::Array& list, std::string_view place,
                                   const Service& service);

}  // namespace ingot
