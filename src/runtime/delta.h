// Delta: new ids and text of a choice, as its reader takes them from a stream.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/ops.h"

namespace ingot {

/// How likely a token was, and which tokens were the likeliest.
struct TokenLogprobs {
  TokenScore token;
  std::vector<TokenScore> top;  ///< falling, ties to the lower id
};

/// Tokens and text of a choice that its reader has not taken.
struct Delta {
  std::vector<std::int32_t> ids;
  std::string text;                     ///< whole UTF-8 characters; empty without a tokenizer
  std::vector<TokenLogprobs> logprobs;  ///< one for each id, where asked for
};

}  // namespace ingot
