// bad_word_tokens: encodes each text with and without a space in front.
#include "runtime/sampling/bad_words.h"

#include <algorithm>

#include "base/text.h"

namespace ingot {

std::vector<std::vector<std::int32_t>> bad_word_tokens(std::span<const std::string> words,
                                                       const Tokenizer& tokenizer) {
  std::vector<std::vector<std::int32_t>> sequences;
  const auto add = [&](std::string_view text) {
    std::vector<std::int32_t> ids = tokenizer.encode(text);
    if (!ids.empty()) sequences.push_back(std::move(ids));
  };
  for (const std::string& word : words) {
    add(word);
    add(cat(" ", word));
  }
  std::sort(sequences.begin(), sequences.end());
  sequences.erase(std::unique(sequences.begin(), sequences.end()), sequences.end());
  return sequences;
}

}  // namespace ingot
