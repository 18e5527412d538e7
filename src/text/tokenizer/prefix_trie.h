// PrefixTrie: finds all strings of a set that are prefixes of a text.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer/piece_trie.h"

namespace ingot {

/// A set of strings, each with an id of 0 or more. Immutable.
class PrefixTrie {
 public:
  PrefixTrie() = default;
  /// Builds the trie. Skips entries without text. If texts are equal, the smallest id wins.
  ///
  /// Cost:    sorting, then linear in the bytes of all texts; at most 18 bytes of memory per byte
  ///          of text.
  explicit PrefixTrie(std::vector<TrieEntry> entries);

  bool empty() const { return nodes_.empty(); }

  /// Calls `each(size, id)` for every entry that is a prefix of `text`, shortest entry first.
  ///
  /// Cost:    O(bytes of the longest entry).
  template <class Each>
  void prefixes(std::string_view text, Each&& each) const {
    if (nodes_.empty()) return;
    std::uint32_t node = 0;
    for (std::size_t size = 0; size < text.size();) {
      node = child(node, static_cast<std::uint8_t>(text[size]));
      if (node == 0) return;
      ++size;
      if (nodes_[node].id >= 0) each(size, nodes_[node].id);
    }
  }

 private:
  /// Limit on a node's children that `child` tries one by one. Larger nodes have a Wide.
  static constexpr std::uint32_t kNarrow = 8;
  static constexpr std::uint32_t kNotWide = 0xFFFF'FFFF;

  struct Node {
    std::uint32_t children = 0;  // index of the first child; the next node's `children` is the end
    std::int32_t id = -1;        // id of the entry that ends here; -1: no entry ends here
    std::uint32_t wide = kNotWide;
  };
  /// The bytes that lead to a node's children, as a set of 256 bits.
  struct Wide {
    std::array<std::uint64_t, 4> bits{};
    std::array<std::uint8_t, 4> before{};  // for each word, number of set bits in all earlier words
  };
  void add_wide_nodes();

  /// Returns the child of `node` for the byte `label`; 0 (the root) if there is none.
  std::uint32_t child(std::uint32_t node, std::uint8_t label) const {
    const std::uint32_t first = nodes_[node].children;
    if (nodes_[node].wide != kNotWide) {
      const Wide& wide = wide_[nodes_[node].wide];
      const std::uint64_t bit = std::uint64_t{1} << (label % 64);
      const std::uint64_t word = wide.bits[label / 64];
      if ((word & bit) == 0) return 0;
      return first + wide.before[label / 64] +
             static_cast<std::uint32_t>(std::popcount(word & (bit - 1)));
    }
    for (std::uint32_t c = first; c < nodes_[node + 1].children; ++c) {
      if (labels_[c] == label) return c;
    }
    return 0;
  }

  std::vector<Node> nodes_;           // nodes level by level, then an end mark
  std::vector<std::uint8_t> labels_;  // byte that leads to each node, by node
  std::vector<Wide> wide_;
};

}  // namespace ingot
