// PieceTrie, PieceFinder: find the strings of a set in a text, leftmost and longest, for added
// tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

/// A token and its text.
struct TrieEntry {
  std::string_view text;
  std::int32_t id = -1;
};

/// A set of strings by their bytes, for PieceFinder. Immutable.
class PieceTrie {
 public:
  PieceTrie() = default;
  /// Entries without text are skipped; equal texts keep the smallest id.
  ///
  /// Cost:    linear in the texts' bytes after sorting them; 13 bytes of memory a byte of text.
  explicit PieceTrie(std::vector<TrieEntry> entries);

  bool empty() const { return nodes_.empty(); }

  struct Match {
    std::int32_t id = -1;  ///< -1: none
    std::size_t size = 0;  ///< bytes
  };

 private:
  friend class PieceFinder;
  struct Node {
    std::uint32_t children = 0;  // the first; they end where those of the next node begin
    std::uint32_t suffix = 0;    // the node of the longest other string that this one ends with
    std::uint32_t match = 0;  // index into matches_: the longest entry that this string ends with
  };
  void add_nodes(const std::vector<TrieEntry>& entries);
  void add_suffixes();
  std::uint32_t child(std::uint32_t node, char label) const;
  std::uint32_t step(std::uint32_t node, char label, std::size_t& steps) const;

  std::vector<Node> nodes_;     // nodes of the reversed strings by level, and an end
  std::string labels_;          // by node: the byte that leads to it
  std::vector<Match> matches_;  // the entries, behind "none"
  std::size_t longest_ = 0;     // bytes
};

/// Finds a set's entries in one text, from front to back. Both must outlive it.
class PieceFinder {
 public:
  PieceFinder(const PieceTrie& trie, std::string_view text) : trie_(trie), text_(text) {}

  /// The first place at or after `at` where an entry starts; `match` is the longest one there.
  /// The text's size when there is none.
  ///
  /// Cost:    O(text) for all calls with growing `at` together, for any entries; memory for the
  ///          longest entry, or some thousand bytes.
  std::size_t find(std::size_t at, PieceTrie::Match& match);

  /// Nodes visited so far.
  std::size_t steps() const { return steps_; }

 private:
  void scan(std::size_t begin);

  const PieceTrie& trie_;
  std::string_view text_;
  std::size_t begin_ = 0;  // where the scanned part of the text begins
  std::vector<std::uint32_t>
      matches_;  // by place in that part: the longest entry that starts there
  std::size_t steps_ = 0;
};

}  // namespace ingot
