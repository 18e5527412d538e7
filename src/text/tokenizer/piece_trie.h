// PieceTrie, PieceFinder: find the strings of a set in a text, such as added tokens. At each place
// the longest string is found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ingot {

/// A string of a set and its id.
struct TrieEntry {
  std::string_view text;
  std::int32_t id = -1;
};

/// Adds a trie's nodes level by level from sorted entries, without recursion. The children of a
/// node are the nodes from index `children` up to the next node's `children`; an additional last
/// node marks the end. `label_at(text, depth)` is the byte that leads from level `depth` to the
/// next level. `ends(node, entry)` gets the first entry that ends at a node.
template <class Node, class Labels, class LabelAt, class Ends>
void add_trie_nodes(const std::vector<TrieEntry>& entries, std::vector<Node>& nodes, Labels& labels,
                    const LabelAt& label_at, const Ends& ends) {
  struct Range {
    std::size_t begin, end;  // the entries below a node
  };
  nodes.emplace_back();
  labels.push_back(0);
  std::vector<Range> level = {{0, entries.size()}};
  std::size_t node = 0;
  for (std::size_t depth = 0; !level.empty(); ++depth) {
    std::vector<Range> deeper;
    for (auto [at, end] : level) {
      nodes[node].children = static_cast<std::uint32_t>(nodes.size());
      if (entries[at].text.size() == depth) ends(nodes[node], entries[at]);
      ++node;
      while (at < end && entries[at].text.size() == depth) ++at;
      while (at < end) {
        const std::size_t begin = at;
        const auto label = label_at(entries[begin].text, depth);
        while (at < end && label_at(entries[at].text, depth) == label) ++at;
        nodes.emplace_back();
        labels.push_back(label);
        deeper.push_back({begin, at});
      }
    }
    level = std::move(deeper);
  }
  nodes.push_back({.children = static_cast<std::uint32_t>(node)});
}

/// A set of strings for PieceFinder: an Aho-Corasick automaton over reversed strings. Immutable.
class PieceTrie {
 public:
  PieceTrie() = default;
  /// Skips entries without text. If texts are equal, the smallest id is used.
  ///
  /// Cost:    sorting, then linear in the bytes of all texts; 13 bytes of memory per byte of text.
  explicit PieceTrie(std::vector<TrieEntry> entries);

  bool empty() const { return nodes_.empty(); }

  struct Match {
    std::int32_t id = -1;  ///< -1: no match
    std::size_t size = 0;  ///< bytes of the matched string
  };

 private:
  friend class PieceFinder;
  struct Node {
    std::uint32_t children = 0;  // first child's index; the next node's `children` is the end
    std::uint32_t suffix = 0;    // node of the longest proper suffix of this node's string
    std::uint32_t match = 0;     // index in matches_ of the longest suffix that is an entry
  };
  void add_suffixes();
  std::uint32_t child(std::uint32_t node, char label) const;
  std::uint32_t step(std::uint32_t node, char label, std::size_t& steps) const;

  std::vector<Node> nodes_;     // level by level, then an end mark
  std::string labels_;          // the byte that leads to each node
  std::vector<Match> matches_;  // entry 0 means no match
  std::size_t longest_ = 0;     // bytes of the longest entry
};

/// Finds the entries of a PieceTrie in one text. Trie and text must outlive the finder.
class PieceFinder {
 public:
  PieceFinder(const PieceTrie& trie, std::string_view text) : trie_(trie), text_(text) {}

  /// The first place at or after `at` where an entry begins; the text's size if there is none.
  /// Sets `match` to the longest entry at this place.
  ///
  /// Cost:    O(text) in total for calls with growing `at`. Memory: 4 bytes per byte of the
  ///          longest entry, or 16 KiB if that is more.
  std::size_t find(std::size_t at, PieceTrie::Match& match);

  /// Number of nodes visited so far.
  std::size_t steps() const { return steps_; }

 private:
  void scan(std::size_t begin);

  const PieceTrie& trie_;
  std::string_view text_;
  std::size_t begin_ = 0;  // start of the scanned part of the text
  /// Index of the longest entry that begins at each place of the scanned part.
  std::vector<std::uint32_t> matches_;
  std::size_t steps_ = 0;
};

}  // namespace ingot
