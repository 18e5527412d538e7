// Delta: new tokens of a choice with their text. A reader takes deltas from a Stream.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/ops.h"

namespace ingot {

/// The log-probability of a token, and the likeliest tokens at its position.
struct TokenLogprobs {
  TokenScore token;
  std::vector<TokenScore> top;  ///< likeliest tokens, by descending probability, then by id
};

/// New tokens of a choice and their text.
struct Delta {
  std::vector<std::int32_t> ids;
  std::string text;                     ///< whole UTF-8 characters; empty without a tokenizer
  std::vector<TokenLogprobs> logprobs;  ///< one entry for each of `ids`; empty if not requested
  std::int64_t cached_tokens = 0;       ///< prompt tokens that were found in the prefix cache
};

}  // namespace ingot
