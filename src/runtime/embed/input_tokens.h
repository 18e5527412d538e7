// InputTokens: the tokens of a text, or of a pair of texts, for an embedding or a score.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "text/tokenizer/tokenizer.h"

namespace ingot {

/// The `tokens_max` of functions that cut no tokens off.
inline constexpr std::int64_t kNoCut = std::numeric_limits<std::int64_t>::max();

/// The tokens that a model reads as one sequence.
struct InputTokens {
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> types;  ///< token type of each token; empty: all 0
  std::int64_t uncut = 0;           ///< number of tokens before some were cut off
  std::int64_t first_cut = 0;       ///< number of tokens cut off the first text of a pair

  bool is_cut() const { return uncut > std::ssize(ids); }
};

/// Encodes a text with the special tokens that the tokenizer puts around it. Names of special
/// tokens in the text stay text. If there are more than `tokens_max` tokens, cuts the text's last
/// tokens off. The special tokens stay, even if they alone are more than `tokens_max`.
///
/// Errors: those of Tokenizer::encode.
InputTokens encode_input(const Tokenizer& tokenizer, std::string_view text,
                         std::int64_t tokens_max = kNoCut);

/// How many tokens a pair of texts may have.
struct PairLimits {
  std::int64_t tokens = kNoCut;  ///< limit on the pair's tokens, with special tokens
  std::int64_t second = kNoCut;  ///< limit on the second text's tokens
};

/// Encodes a pair of texts like a text. `first` has the first text's tokens, without special
/// tokens. Cuts the second text to `limits.second` tokens. Then cuts tokens off the longer text
/// first, then off both. If the second text is empty, the input is the first text alone, as in
/// transformers.
///
/// Errors: those of Tokenizer::encode; Error{kInvalid} if the tokenizer has no form for pairs.
/// Source: Hugging Face's tokenizers, the truncation strategy LongestFirst.
InputTokens encode_pair(const Tokenizer& tokenizer, std::span<const std::int32_t> first,
                        std::string_view second, const PairLimits& limits = {});

/// Takes token ids as they are, and cuts off those from `tokens_max` on.
InputTokens take_ids(std::vector<std::int32_t> ids, std::int64_t tokens_max = kNoCut);

}  // namespace ingot
