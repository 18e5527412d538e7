// Finds added tokens with a trie, then applies their rules: single_word, lstrip, rstrip. A rule
// looks at neighbouring characters.
#include "text/pretokenize/added_tokens.h"

#include <algorithm>
#include <numeric>

#include "base/index.h"
#include "text/unicode/char_scan.h"

namespace ingot {

AddedTokens::AddedTokens(std::span<const AddedToken> tokens) {
  std::vector<std::size_t> order(tokens.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return tokens[a].id < tokens[b].id; });
  std::vector<TrieEntry> entries;
  for (const std::size_t i : order) {
    const AddedToken& token = tokens[i];
    entries.push_back({token.content, static_cast<std::int32_t>(rules_.size())});
    rules_.push_back({token.id, token.single_word, token.lstrip, token.rstrip});
  }
  trie_ = PieceTrie(std::move(entries));
}

AddedTokenFinder::Match AddedTokenFinder::next() {
  for (;;) {
    PieceTrie::Match found;
    const std::size_t begin = finder_->find(at_, found);
    if (found.id < 0) return {-1, text_.size(), text_.size()};
    const std::size_t end = begin + found.size;
    at_ = end;
    const AddedTokens::Rules& rules = at(tokens_.rules_, found.id);
    const bool in_word = char_before(text_, begin).is(kWord) || char_at(text_, end).is(kWord);
    if (rules.single_word && in_word) continue;
    Match match = {rules.id, begin, end};
    if (rules.rstrip) match.end = spaces_end(end);
    if (rules.lstrip) match.begin = std::min(spaces_begin(begin), match.end);
    last_end_ = match.end;
    return match;
  }
}

/// Start of the white space before `end`, limited by the end of the last match.
std::size_t AddedTokenFinder::spaces_begin(std::size_t end) const {
  while (end > last_end_) {
    const Char c = char_before(text_, end);
    if (!c.is(kSpace)) break;
    end -= c.size;
  }
  return std::max(end, last_end_);
}

/// End of the white space behind `begin`. Scans a run with many tokens only once.
std::size_t AddedTokenFinder::spaces_end(std::size_t begin) {
  if (begin < run_begin_ || begin > run_end_) {
    run_begin_ = begin;
    run_end_ = class_end(text_, begin, kSpace);
  }
  return run_end_;
}

}  // namespace ingot
