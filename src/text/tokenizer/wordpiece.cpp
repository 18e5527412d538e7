// WordPiece: takes the longest piece that is a prefix of the rest of the word, and repeats.
#include "text/tokenizer/wordpiece.h"

#include <utility>

#include "text/unicode/char_scan.h"

namespace ingot {
namespace {

bool has_more_chars(std::string_view word, std::size_t most) {
  std::size_t at = 0;
  for (std::size_t chars = 0; chars <= most; ++chars) {
    if (at == word.size()) return false;
    at += char_at(word, at).size;
  }
  return true;
}

}  // namespace

WordPiece::WordPiece(std::vector<TrieEntry> beginning, std::vector<TrieEntry> continuing,
                     const Settings& settings)
    : beginning_(std::move(beginning)), continuing_(std::move(continuing)), settings_(settings) {}

void WordPiece::encode(std::string_view word, ModelScratch&, std::vector<std::int32_t>& ids) const {
  const std::size_t before = ids.size();
  bool known = !has_more_chars(word, settings_.word_chars_max);
  for (std::size_t at = 0; known && at < word.size();) {
    std::size_t longest = 0;
    std::int32_t piece = -1;
    const PrefixTrie& trie = at == 0 ? beginning_ : continuing_;
    trie.prefixes(word.substr(at), [&](std::size_t size, std::int32_t id) {
      longest = size;
      piece = id;
    });
    known = longest > 0;
    if (known) ids.push_back(piece);
    at += longest;
  }
  if (known) return;
  ids.resize(before);
  ids.push_back(settings_.unknown);
}

}  // namespace ingot
