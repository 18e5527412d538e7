// PieceTrie: the automaton of Aho and Corasick (CACM 18, 1975) over reversed strings. It reads a
// text from the end. At each place it knows the longest entry that begins there, in one or two
// steps per byte. A plain trie, read forwards, would start again at every place.
#include "text/tokenizer/piece_trie.h"

#include <algorithm>
#include <utility>

namespace ingot {
namespace {

/// Fewest places of a text that are scanned at once.
constexpr std::size_t kPlacesMin = 4096;

char from_end(std::string_view text, std::size_t i) { return text[text.size() - 1 - i]; }

/// Orders entries by reversed text, then by id.
bool comes_before(const TrieEntry& a, const TrieEntry& b) {
  const auto [in_a, in_b] =
      std::mismatch(a.text.rbegin(), a.text.rend(), b.text.rbegin(), b.text.rend());
  if (in_a != a.text.rend() && in_b != b.text.rend()) return *in_a < *in_b;
  if (a.text.size() != b.text.size()) return a.text.size() < b.text.size();
  return a.id < b.id;
}

}  // namespace

PieceTrie::PieceTrie(std::vector<TrieEntry> entries) {
  std::erase_if(entries, [](const TrieEntry& e) { return e.text.empty(); });
  if (entries.empty()) return;
  std::sort(entries.begin(), entries.end(), comes_before);
  std::size_t bytes = 0;
  for (const TrieEntry& e : entries) bytes += e.text.size();
  nodes_.reserve(bytes + 2);
  labels_.reserve(bytes + 1);
  matches_.emplace_back();
  add_trie_nodes(entries, nodes_, labels_, from_end, [this](Node& node, const TrieEntry& entry) {
    node.match = static_cast<std::uint32_t>(matches_.size());
    matches_.push_back({entry.id, entry.text.size()});
    longest_ = entry.text.size();
  });
  add_suffixes();
}

/// A suffix is shorter than its string, so its node comes first and is complete.
void PieceTrie::add_suffixes() {
  std::size_t steps = 0;
  const std::size_t count = labels_.size();
  for (std::uint32_t n = 0; n < count; ++n) {
    for (std::uint32_t c = nodes_[n].children; c < nodes_[n + 1].children; ++c) {
      if (n != 0) nodes_[c].suffix = step(nodes_[n].suffix, labels_[c], steps);
      if (nodes_[c].match == 0) nodes_[c].match = nodes_[nodes_[c].suffix].match;
    }
  }
}

/// The child of `node` by `label`; 0 (the root) if it has no such child.
std::uint32_t PieceTrie::child(std::uint32_t node, char label) const {
  const std::uint32_t first = nodes_[node].children;
  const auto labels = std::string_view(labels_).substr(first, nodes_[node + 1].children - first);
  const std::size_t at = labels.find(label);
  return at == std::string_view::npos ? 0 : first + static_cast<std::uint32_t>(at);
}

/// The node of the longest string that is a suffix of `node`'s string followed by `label`.
std::uint32_t PieceTrie::step(std::uint32_t node, char label, std::size_t& steps) const {
  for (;; node = nodes_[node].suffix) {
    ++steps;
    const std::uint32_t next = child(node, label);
    if (next != 0 || node == 0) return next;
  }
}

/// Finds the longest entry at each of the places from `begin`. Reads at most the longest entry's
/// bytes beyond these places, which are at least as many.
void PieceFinder::scan(std::size_t begin) {
  const std::size_t places = std::max(trie_.longest_, kPlacesMin);
  begin_ = begin;
  matches_.resize(std::min(places, text_.size() - begin));
  const std::size_t end = begin + matches_.size();
  std::uint32_t node = 0;
  for (std::size_t at = std::min(text_.size(), end + trie_.longest_ - 1); at-- > begin;) {
    node = trie_.step(node, text_[at], steps_);
    if (at < end) matches_[at - begin] = trie_.nodes_[node].match;
  }
}

std::size_t PieceFinder::find(std::size_t at, PieceTrie::Match& match) {
  match = {};
  if (trie_.empty()) return text_.size();
  for (; at < text_.size(); ++at) {
    if (at < begin_ || at - begin_ >= matches_.size()) scan(at);
    const std::uint32_t found = matches_[at - begin_];
    if (found == 0) continue;
    match = trie_.matches_[found];
    return at;
  }
  return text_.size();
}

}  // namespace ingot
