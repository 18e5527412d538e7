// PrefixTrie: built from sorted entries; nodes with many children get a set of their labels.
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
  const auto label_at = [](std::string_view text, std::size_t depth) {
    return static_cast<std::uint8_t>(text[depth]);
  };
  add_trie_nodes(entries, nodes_, labels_, label_at,
                 [](Node& node, const TrieEntry& entry) { node.id = entry.id; });
  add_wide_nodes();
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
