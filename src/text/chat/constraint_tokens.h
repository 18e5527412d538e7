// The trie of a tokenizer's tokens, for constraints.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "constraint/token_trie.h"
#include "text/tokenizer/tokenizer.h"

namespace ingot {

/// Makes the trie of the ids [0, ids), which the model's logits have. Normal, byte and user-defined
/// tokens are text with their `piece`; control tokens named in `markers` are markers; all other ids
/// are never allowed.
std::shared_ptr<const TokenTrie> make_token_trie(const Tokenizer& tokenizer, std::int32_t ids,
                                                 std::span<const std::string> markers);

}  // namespace ingot
