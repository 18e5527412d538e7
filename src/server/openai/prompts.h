// Prompts that are texts or token ids, as completions and embeddings take them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/params.h"
#include "server/service.h"

namespace ingot {

/// The member of that name: a string, a list of at most `most` strings, a list of ids, or a list of
/// at most `most` lists of ids. Each prompt has tokens, and leaves room for one more.
///
/// Errors: ApiError naming the member; context_length_exceeded.
std::vector<std::vector<std::int32_t>> read_prompts(Params& params, std::string_view name,
                                                    std::int32_t most, const Service& service);

/// A list of token ids, each a row of the model's vocabulary. Errors: ApiError naming the member.
std::vector<std::int32_t> read_ids(const Json::Array& list, std::string_view name,
                                   const Service& service);

/// The text that tokens stand for; what is no whole character is U+FFFD. Errors: ApiError without a
/// tokenizer.
std::string text_of(const Service& service, std::span<const std::int32_t> ids);

}  // namespace ingot
