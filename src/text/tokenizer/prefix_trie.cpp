// PrefixTrie: built level by level from sorted entries, without recursion. The children of a node
// are adjacent.
#include "text/tokenizer/prefix_trie.h"

#include <algorithm>
#include <utility>

namespace ingot {

PrefixTrie::PrefixTrie(std::vector<TrieEntry> entries) {
  std::erase_if(entries, [](const TrieEntry& e) { return e.text.empty(); });
  if (entries.empty()) return;
  std::sort(entries.begin(), entries.end(), [](const TrieEntry& a, const TrieEntry& b) {
    return std::pair(a.text, a.id) < std::pair(b.text, b.id);
  });
  add_nodes(entries);
  add_wide_nodes();
}

void PrefixTrie::add_nodes(const std::vector<TrieEntry>& entries) {
  struct Range {
    std::size_t begin, end;  // the entries that begin with a node's string
  };
  nodes_.emplace_back();
  labels_.push_back(0);
  std::vector<Range> level = {{0, entries.size()}};
  std::size_t node = 0;
  for (std::size_t depth = 0; !level.empty(); ++depth) {
    std::vector<Range> deeper;
    for (auto [at, end] : level) {
      nodes_[node].children = static_cast<std::uint32_t>(nodes_.size());
      if (entries[at].text.size() == depth) nodes_[node].id = entries[at].id;
      ++node;
      while (at < end && entries[at].text.size() == depth) ++at;
      while (at < end) {
        const std::size_t begin = at;
        const char label = entries[begin].text[depth];
        while (at < end && entries[at].text[depth] == label) ++at;
        nodes_.emplace_back();
        labels_.push_back(static_cast<std::uint8_t>(label));
        deeper.push_back({begin, at});
      }
    }
    level = std::move(deeper);
  }
  nodes_.push_back({.children = static_cast<std::uint32_t>(node)});
}

void PrefixTrie::add_wide_nodes() {
  for (std::size_t n = 0; n + 1 < nodes_.size(); ++n) {
    const std::uint32_t first = nodes_[n].children;
    const std::uint32_t last = nodes_[n + 1].children;
    if (last - first <= kNarrow) continue;
    Wide wide;
    for (std::uint32_t c = first; c < last; ++c) {
      wide.bits[labels_[c] / 64] |= std::uint64_t{1} << (labels_[c] % 64);
    }
    for (std::size_t word = 1; word < wide.bits.size(); ++word) {
      wide.before[word] =
          static_cast<std::uint8_t>(wide.before[word - 1] + std::popcount(wide.bits[word - 1]));
    }
    nodes_[n].wide = static_cast<std::uint32_t>(wide_.size());
    wide_.push_back(wide);
  }
}

}  // namespace ingot
