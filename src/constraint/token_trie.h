// TokenTrie: a vocabulary's texts as a tree of bytes, to find all tokens that a constraint allows.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "constraint/match/byte_tree.h"

namespace ingot {

class LeafMasks;

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
  /// A token with more bytes is never allowed.
  static constexpr std::size_t kTokenBytesMax = 4096;

  /// `token` is called once for each id in [0, ids). The trie copies the bytes.
  TokenTrie(std::int32_t ids, const std::function<Token(std::int32_t)>& token);
  ~TokenTrie();

  std::int32_t ids() const { return ids_; }
  std::size_t mask_words() const { return (static_cast<std::size_t>(ids_) + 31) / 32; }
  /// The bytes of a token; empty for kNone.
  std::string_view bytes(std::int32_t id) const;
  TokenUse use(std::int32_t id) const { return uses_[static_cast<std::size_t>(id)]; }
  /// Whether a single token of kText has exactly this byte. A text of other bytes may have no
  /// tokens from some points on, so a Matcher never takes such a byte.
  bool has_byte(std::uint8_t byte) const { return has_byte_[byte]; }

  /// Whether the printable characters of ASCII all have tokens of their own.
  bool has_printable() const { return has_printable_; }

  const ByteTree& texts() const { return texts_; }      ///< the tokens of kText
  const ByteTree& markers() const { return markers_; }  ///< the tokens of kMarker
  /// Masks of the vocabulary's grammars.
  LeafMasks& leaf_masks() const { return *leaf_masks_; }

 private:
  std::int32_t ids_ = 0;
  std::array<bool, 256> has_byte_{};
  bool has_printable_ = false;
  std::string bytes_;                 ///< all tokens' bytes, one after the other
  std::vector<std::uint32_t> first_;  ///< [ids + 1] index in bytes_
  std::vector<TokenUse> uses_;
  ByteTree texts_, markers_;
  std::unique_ptr<LeafMasks> leaf_masks_;
};

}  // namespace ingot
