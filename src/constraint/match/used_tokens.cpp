// tokens_of_used_texts: the tokens that would repeat a key or an item.
#include "constraint/match/used_tokens.h"

#include <algorithm>
#include <string>

namespace ingot::match {
namespace {

/// The texts, sorted, that begin alike: [low, high), up to `length` characters.
struct Range {
  std::size_t low = 0, high = 0, length = 0;
  CharState chars{};
};

/// Returns the texts of a range whose next character is in [first, last].
Range narrowed(const std::vector<std::u32string>& texts, const Range& range, char32_t first,
               char32_t last) {
  const auto begin = texts.begin() + static_cast<std::ptrdiff_t>(range.low);
  const auto end = texts.begin() + static_cast<std::ptrdiff_t>(range.high);
  const auto low = std::partition_point(begin, end, [&](const std::u32string& text) {
    return char_at(text, range.length) < static_cast<std::int64_t>(first);
  });
  const auto high = std::partition_point(low, end, [&](const std::u32string& text) {
    return char_at(text, range.length) <= static_cast<std::int64_t>(last);
  });
  Range found = range;
  found.low = static_cast<std::size_t>(low - texts.begin());
  found.high = static_cast<std::size_t>(high - texts.begin());
  return found;
}

std::vector<std::u32string> used_rests(const Machine& machine, const Thread& thread) {
  std::vector<std::u32string> rests;
  machine.rests(machine.frame(thread.frame).used, thread.text, rests);
  if (thread.leaf == Leaf::kString) {
    // Strings are remembered with their quotes.
    rests.erase(std::remove_if(
                    rests.begin(), rests.end(),
                    [](const std::u32string& rest) { return rest.empty() || rest.back() != U'"'; }),
                rests.end());
    for (std::u32string& rest : rests) rest.pop_back();
  }
  std::sort(rests.begin(), rests.end());
  return rests;
}

}  // namespace

std::vector<std::int32_t> tokens_of_used_texts(const Machine& machine, const Thread& thread,
                                               std::uint32_t start) {
  std::vector<std::int32_t> found;
  const std::vector<std::u32string> rests = used_rests(machine, thread);
  if (rests.empty()) return found;
  const ByteTree& tree = machine.grammar().trie().texts();
  const std::size_t base = tree.nodes[start].depth;
  std::vector<Range> path{{.high = rests.size(), .chars = thread.chars}};
  for (std::uint32_t node = start + 1; node < tree.nodes[start].end;) {
    const ByteTree::Node& at = tree.nodes[node];
    path.resize(at.depth - base);
    Range range = path.back();
    char32_t c = 0;
    const Read read = read_json(range.chars, at.byte, c);
    bool is_live = false;
    if (read == Read::kQuote) {
      if (rests[range.low].size() == range.length) {
        const auto tokens = tree.tokens_below(node);
        found.insert(found.end(), tokens.begin(), tokens.end());
      }
    } else if (read == Read::kPartial) {
      const CodeRanges possible = possible_chars(range.chars);
      for (const CodePointRange& chars : possible.all()) {
        const Range next = narrowed(rests, range, chars.first, chars.last);
        is_live = is_live || next.low < next.high;
      }
    } else if (read == Read::kChar) {
      range = narrowed(rests, range, c, c);
      ++range.length;
      is_live = range.low < range.high;
    }
    if (is_live) path.push_back(range);
    node = is_live ? node + 1 : at.end;
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace ingot::match
