// Makes the trie of a tokenizer's tokens.
#include "text/chat/constraint_tokens.h"

#include <algorithm>
#include <string_view>

namespace ingot {
namespace {

TokenUse use_of(const Tokenizer& tokenizer, std::int32_t id, std::span<const std::string> markers) {
  const std::string_view piece = tokenizer.piece(id);
  if (piece.empty()) return TokenUse::kNone;
  switch (tokenizer.type(id)) {
    case TokenType::kNormal:
    case TokenType::kByte:
    case TokenType::kUserDefined:
      return TokenUse::kText;
    case TokenType::kControl:
      return std::find(markers.begin(), markers.end(), piece) != markers.end() ? TokenUse::kMarker
                                                                               : TokenUse::kNone;
    default:
      return TokenUse::kNone;
  }
}

}  // namespace

std::shared_ptr<const TokenTrie> make_token_trie(const Tokenizer& tokenizer, std::int32_t ids,
                                                 std::span<const std::string> markers) {
  return std::make_shared<const TokenTrie>(ids, [&](std::int32_t id) {
    return TokenTrie::Token{.bytes = tokenizer.piece(id), .use = use_of(tokenizer, id, markers)};
  });
}

}  // namespace ingot
