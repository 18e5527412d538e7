// What every tokenizer has: its pieces, what each is for, and the ids with a role.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "load/tokenizer_data.h"

namespace ingot {

/// Most tokens of a vocabulary; real ones have up to 262 144.
constexpr std::size_t kTokensMax = std::size_t{1} << 22;
/// Most bytes of one piece and of all together; real ones have a few hundred and a few million.
constexpr std::size_t kPieceBytesMax = 65'536;
constexpr std::size_t kAllPieceBytesMax = 67'108'864;
/// Most tokens that are matched in texts before anything else, and their bytes; Gemma has about 6
/// 400.
constexpr std::size_t kAddedTokensMax = 1'000'000;
constexpr std::size_t kAddedBytesMax = 8'388'608;

/// A tokenizer's vocabulary. `pieces` and `types` have one entry a token.
struct Vocabulary {
  StringTable pieces;  ///< the bytes that each token stands for in a text
  std::vector<TokenType> types;
  std::optional<std::int32_t> bos, eos, unknown, padding, eot;
  bool add_bos = false;
  bool add_eos = false;
};

/// A refusal of a tokenizer: model_error(file, "tokenizer", 0, reason).
Error vocabulary_error(const TokenizerData& data, std::string_view reason);

/// Types, ids and framing of `data`, `pieces` still empty. Without types in the file every token is
/// normal but for bos, eos, eot and padding, which are control tokens.
///
/// Errors:  vocabulary_error for no tokens, more than the bounds above, arrays of another length,
/// ids out of range.
Vocabulary read_vocabulary(const TokenizerData& data);

}  // namespace ingot
