// Finding the longest of many strings at a place in a text: for tokens that are matched before
// anything else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace ingot {

/// A token and the text that stands for it.
struct TrieEntry {
  std::string_view text;
  std::int32_t id = -1;
};

/// A set of strings by their bytes. Immutable.
class PieceTrie {
 public:
  PieceTrie() = default;
  /// Entries without text are left out; of equal texts the smallest id stays.
  explicit PieceTrie(std::vector<TrieEntry> entries);

  bool empty() const { return nodes_.empty(); }

  struct Match {
    std::int32_t id = -1;  ///< -1: none
    std::size_t size = 0;  ///< bytes
  };
  /// The longest entry that `text` starts with.
  Match longest(std::string_view text) const;

  /// The first place at or after `at` where an entry starts; `match` tells which. text.size() when
  /// there is none.
  std::size_t find(std::string_view text, std::size_t at, Match& match) const;

 private:
  struct Node {
    std::uint32_t edges = 0;  ///< its first edge
    std::uint32_t count = 0;
    std::int32_t id = -1;
  };
  struct Edge {
    char label;
    std::uint32_t node;
  };
  std::vector<Node> nodes_;
  std::vector<Edge> edges_;  // of one node together, sorted by label
};

}  // namespace ingot
