// The trie is built level by level from the sorted strings, without recursion.
#include "text/piece_trie.h"

#include <algorithm>
#include <tuple>

namespace ingot {

PieceTrie::PieceTrie(std::vector<TrieEntry> entries) {
  std::erase_if(entries, [](const TrieEntry& e) { return e.text.empty(); });
  if (entries.empty()) return;
  std::sort(entries.begin(), entries.end(), [](const TrieEntry& a, const TrieEntry& b) {
    return std::tie(a.text, a.id) < std::tie(b.text, b.id);
  });
  struct Range {
    std::size_t begin, end, depth;
  };
  std::vector<Range> ranges = {
      {0, entries.size(), 0}};  // of node i: the entries that share its prefix
  nodes_.emplace_back();
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    auto [at, end, depth] = ranges[n];
    if (entries[at].text.size() == depth) nodes_[n].id = entries[at].id;
    while (at < end && entries[at].text.size() == depth) ++at;
    nodes_[n].edges = static_cast<std::uint32_t>(edges_.size());
    while (at < end) {
      const char label = entries[at].text[depth];
      std::size_t next = at + 1;
      while (next < end && entries[next].text[depth] == label) ++next;
      edges_.push_back({label, static_cast<std::uint32_t>(nodes_.size())});
      nodes_.emplace_back();
      ranges.push_back({at, next, depth + 1});
      at = next;
    }
    nodes_[n].count = static_cast<std::uint32_t>(edges_.size()) - nodes_[n].edges;
  }
}

PieceTrie::Match PieceTrie::longest(std::string_view text) const {
  Match best;
  if (nodes_.empty()) return best;
  const Node* node = &nodes_[0];
  for (std::size_t depth = 0; depth < text.size(); ++depth) {
    const char label = text[depth];
    const Edge* const first = edges_.data() + node->edges;
    const Edge* const last = first + node->count;
    // In the order of std::string_view, which sorted the entries: by unsigned byte.
    const Edge* const edge = std::lower_bound(first, last, label, [](const Edge& e, char c) {
      return static_cast<unsigned char>(e.label) < static_cast<unsigned char>(c);
    });
    if (edge == last || edge->label != label) break;
    node = &nodes_[edge->node];
    if (node->id >= 0) best = {node->id, depth + 1};
  }
  return best;
}

std::size_t PieceTrie::find(std::string_view text, std::size_t at, Match& match) const {
  for (; at < text.size(); ++at) {
    match = longest(text.substr(at));
    if (match.id >= 0) return at;
  }
  match = {};
  return text.size();
}

}  // namespace ingot
