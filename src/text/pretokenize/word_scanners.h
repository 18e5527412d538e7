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

/// Size in bytes of the first piece that Scanner::kGpt2 cuts off.
std::size_t gpt2_length(std::string_view text);
/// As `gpt2_length`, for Scanner::kLlama3, kQwen2, kQwen35 and kCl100k.
std::size_t llama3_length(std::string_view text, const Llama3Rules& rules);
/// As `gpt2_length`, for Scanner::kO200k and kTekken. In a word, no upper-case letter follows a lower-case
/// letter: "HTMLPage" is one word, "aB" is two words.
std::size_t cased_length(std::string_view text, const CasedRules& rules);
/// As `gpt2_length`, for Scanner::kDeepseek3; 0 if the pattern does not match.
std::size_t deepseek3_length(std::string_view text);

}  // namespace ingot
