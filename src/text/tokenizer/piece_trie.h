// PieceTrie, PieceFinder: find the strings of a set, such as added tokens, in a text. At each place
// they find the longest string.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ingot {

/// A string of a set, with its id.
struct TrieEntry {
  std::string_view text;
  std::int32_t id = -1;
};

/// Builds a trie from sorted entries, level by level and without recursion. A node's children are
/// the nodes from index `children` up to the next node's `children`. An additional last node marks
/// the end. `label_at(text, depth)` returns the byte that leads from level `depth` to the next
/// level. `ends(node, entry)` receives the first entry that ends at a node.
template <class Node, class Labels, class LabelAt, class Ends>
void add_trie_nodes(const std::vector<TrieEntry>& entries, std::vector<Node>& nodes, Labels& labels,
                    const LabelAt& label_at, const Ends& ends) {
  struct Range {
    std::size_t begin, end;  // indices [begin, end) of the entries below a node
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
  /// Builds the automaton. Skips entries without text. If texts are equal, the smallest id wins.
  ///
  /// Cost:    sorting, then linear in the bytes of all texts; 13 bytes of memory per byte of text.
  explicit PieceTrie(std::vector<TrieEntry> entries);

  bool empty() const { return nodes_.empty(); }

  struct Match {
    std::int32_t id = -1;  ///< id of the matched string; -1: no match
    std::size_t size = 0;  ///< size of the matched string in bytes
  };

 private:
  friend class PieceFinder;
  struct Node {
    std::uint32_t children = 0;  // index of the first child; the next node's `children` is the end
    std::uint32_t suffix = 0;    // suffix link: node of the longest proper suffix of this string
    std::uint32_t match = 0;     // index in matches_: longest entry that is a suffix of this string
  };
  void add_suffixes();
  std::uint32_t child(std::uint32_t node, char label) const;
  std::uint32_t step(std::uint32_t node, char label, std::size_t& steps) const;

  std::vector<Node> nodes_;     // nodes level by level, then an end mark
  std::string labels_;          // byte that leads to each node, by node
  std::vector<Match> matches_;  // one match per distinct entry; index 0 means no match
  std::size_t longest_ = 0;     // size of the longest entry in bytes
};

/// Finds the entries of a PieceTrie in one text. The trie and the text must outlive the finder.
class PieceFinder {
 public:
  PieceFinder(const PieceTrie& trie, std::string_view text) : trie_(trie), text_(text) {}

  /// Returns where the first entry at or after `at` begins, or the text's size if there is no
  /// entry. Sets `match` to the longest entry at this place.
  ///
  /// Cost:    linear in the text, over all calls with ascending `at`. Memory: 4 bytes per byte of
  ///          the longest entry, at least 16 KiB.
  std::size_t find(std::size_t at, PieceTrie::Match& match);

  /// Returns the number of nodes visited so far, as a measure of the cost.
  std::size_t steps() const { return steps_; }

 private:
  void scan(std::size_t begin);

  const PieceTrie& trie_;
  std::string_view text_;
  std::size_t begin_ = 0;  // first byte of the scanned part of the text
  /// For each scanned place, the longest entry that begins there, as an index in trie_.matches_.
  std::vector<std::uint32_t> matches_;
  std::size_t steps_ = 0;
};

}  // namespace ingot
