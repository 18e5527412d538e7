// Scanners for pre-tokenizer patterns that cut a text into words, numbers, signs and spaces. Each
// function returns the bytes of the first piece of a non-empty text.
#pragma once

#include <cstddef>
#include <string_view>

namespace ingot {

/// Parameters of the patterns that resemble Llama 3's.
struct Llama3Rules {
  unsigned letters;  ///< CharClass bits of a word's characters
  int digits_max;    ///< limit on the characters of a number
  bool end_spaces;   ///< whether \s++$ comes before \s*[\r\n]+
};

/// Parameters of the patterns that resemble o200k's.
struct CasedRules {
  bool contractions;  ///< whether a word includes a following 's, 't, ...
  int digits_max;
};

/// Size in bytes of the first piece that Scanner::kGpt2 cuts off.
std::size_t gpt2_length(std::string_view text);
/// Size in bytes of the first piece that Scanner::kLlama3, kQwen2, kQwen35 or kCl100k cuts off.
std::size_t llama3_length(std::string_view text, const Llama3Rules& rules);
/// Size in bytes of the first piece that Scanner::kO200k or kTekken cuts off. A word never changes
/// from lower to upper case: "HTMLPage" is one word, "aB" is two words.
std::size_t cased_length(std::string_view text, const CasedRules& rules);
/// Size in bytes of the match of Scanner::kDeepseek3 at the start of `text`; 0 if there is none.
std::size_t deepseek3_length(std::string_view text);

}  // namespace ingot
