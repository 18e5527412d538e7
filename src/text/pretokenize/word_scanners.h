// Scanners for pre-tokenizer patterns that cut a text into words, numbers, signs and spaces. Each
// function returns the bytes of the first piece of a non-empty text.
#pragma once

#include <cstddef>
#include <string_view>

namespace ingot {

/// Parameters of the patterns that resemble Llama 3's.
struct Llama3Rules {
  unsigned letters;  ///< CharClass bits of a word's characters
  int digits_max;    ///< most characters of a number
  bool end_spaces;   ///< whether \s++$ comes before \s*[\r\n]+
};

/// Parameters of the patterns that resemble o200k's.
struct CasedRules {
  bool contractions;  ///< whether a word includes a following 's, 't, ...
  int digits_max;
};

/// Bytes of the first piece by Scanner::kGpt2.
std::size_t gpt2_length(std::string_view text);
/// Bytes of the first piece by Scanner::kLlama3, kQwen2, kQwen35 or kCl100k.
std::size_t llama3_length(std::string_view text, const Llama3Rules& rules);
/// Bytes of the first piece by Scanner::kO200k or kTekken. A word never changes from lower to upper
/// case: "HTMLPage" is one word, "aB" is two.
std::size_t cased_length(std::string_view text, const CasedRules& rules);
/// Bytes of the first piece by Scanner::kDeepseek3; 0 if the pattern does not match.
std::size_t deepseek3_length(std::string_view text);

}  // namespace ingot
