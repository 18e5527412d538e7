// TokenTrie: a vocabulary's texts as a tree of bytes, to find all tokens that a constraint allows.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace ingot {

/// What a token is to a constraint.
enum class TokenUse : std::uint8_t {
  kText,    ///< its bytes are text
  kMarker,  ///< a control token whose name a Terminal may have as text, but no JSON string
  kNone,    ///< never allowed: other control tokens, unused ids, tokens without text
};

/// A vocabulary's tokens by their bytes. Immutable: any number of threads can use it.
class TokenTrie {
 public:
  struct Token {
    std::string_view bytes;
    TokenUse use = TokenUse::kNone;
  };

  /// `token` is called once for each id in [0, ids). The trie copies the bytes.
  TokenTrie(std::int32_t ids, const std::function<Token(std::int32_t)>& token);

  std::int32_t ids() const { return ids_; }
  std::size_t mask_words() const { return (static_cast<std::size_t>(ids_) + 31) / 32; }
  /// The bytes of a token; empty for kNone.
  std::string_view bytes(std::int32_t id) const;
  TokenUse use(std::int32_t id) const;
  /// Whether a single token of kText has exactly this byte. A text of other bytes may have no tokens
  /// from some points on, so a Matcher never takes such a byte.
  bool has_byte(std::uint8_t byte) const;
  /// Bytes of the longest token.
  std::size_t bytes_max() const { return bytes_max_; }

 private:
  // (to be designed: nodes in depth-first order with the size of their subtree)
  std::int32_t ids_ = 0;
  std::size_t bytes_max_ = 0;
};

}  // namespace ingot
