// LeafMasks: which tokens stay inside a Terminal or a string, and which ones leave it and how.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "constraint/language/text_dfa.h"
#include "constraint/match/byte_tree.h"
#include "constraint/match/chars.h"

namespace ingot {

class TokenTrie;

/// The tokens below a node of the vocabulary's tree that a leaf can take from one of its states.
struct LeafMask {
  /// Tokens that stay inside the leaf, as a bit set, or as a list if they are few.
  std::vector<std::uint32_t> bits;
  std::vector<std::int32_t> tokens;

  /// With lengths: the tokens inside by the least number of characters that a string needs for them
  /// and its end. Tokens that need n characters are at [need_first[n], need_first[n + 1]).
  std::vector<std::int32_t> by_need;
  std::vector<std::uint32_t> need_first;
  /// With lengths: tokens that can be too short for a lower bound; they are tried one by one.
  std::vector<std::int32_t> uncertain;

  /// Tokens that leave the leaf. The tree has their bytes behind the leaf.
  struct Exit {
    std::int32_t tag = 0;  ///< the accepted text's tag, with tags
    ByteTree tree;
    std::vector<std::uint16_t> lengths;  ///< [tree.tokens] characters before the exit
  };
  std::vector<Exit> exits;

  std::size_t bytes() const;
};

/// The leaf masks of a vocabulary that all its grammars asked for, up to a limit of memory; the
/// least recently used are forgotten first. Thread-safe.
class LeafMasks {
 public:
  /// Memory of the masks, in bytes.
  static constexpr std::size_t kBytesMax = 64u << 20;

  struct Key {
    std::uint64_t grammar = 0;          ///< MatcherGrammar::id of the language's owner
    const TextDfa* language = nullptr;  ///< null: every text
    std::int32_t state = 0;
    match::CharState chars{};
    std::uint32_t node = 0;  ///< in TokenTrie::texts: the tokens below it, behind its bytes
    bool is_string = false;  ///< the inside of a JSON string; else raw text
    bool has_lengths = false;
    bool has_tags = false;
    /// Raw text: the bytes that can follow it, at least.
    std::array<std::uint64_t, 4> follow{};

    friend bool operator==(const Key&, const Key&) = default;
  };

  /// `trie` must outlive the masks.
  explicit LeafMasks(const TokenTrie& trie);
  ~LeafMasks();
  std::shared_ptr<const LeafMask> find(const Key& key);

  struct AnyString;

 private:
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  struct Known {
    Key key;
    std::shared_ptr<const LeafMask> mask;
    /// With its entries in `masks_` and `places_`.
    std::size_t bytes() const { return mask->bytes() + 2 * sizeof(Known) + 64; }
  };

  const AnyString& any_string();
  void add(const Key& key, std::shared_ptr<const LeafMask> mask);

  const TokenTrie& trie_;
  std::once_flag any_once_;
  std::unique_ptr<const AnyString> any_;
  std::mutex mutex_;
  std::list<Known> masks_;  ///< the most recently used first
  std::unordered_map<Key, std::list<Known>::iterator, Hash> places_;
  std::size_t bytes_ = 0;
};

}  // namespace ingot
