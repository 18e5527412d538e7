// Scanners for the patterns that cut text into words, numbers, signs and spaces. Each function
// returns the size in bytes of the first piece of a non-empty text that begins at a piece's end.
#pragma once

#include <cstddef>
#include <string_view>

namespace ingot {

/// The differences between patterns like Llama 3's.
struct Llama3Rules {
  unsigned letters;  ///< the classes of a word's characters
  int digits_max;    ///< most characters in one number
  bool end_spaces;   ///< \s++$ comes before \s*[\r\n]
};

/// The differences between patterns like o200k's.
struct CasedRules {
  bool contractions;  ///< words end with 's, 't, ...
  int digits_max;
};

/// Scanner::kGpt2.
std::size_t gpt2_length(std::string_view text);
/// Scanner::kLlama3, kQwen2, kQwen35 and kCl100k.
std::size_t llama3_length(std::string_view text, const Llama3Rules& rules);
/// Scanner::kO200k and kTekken. A word changes from upper to lower case at most once: "HTMLPage" is
/// one word, "aB" is two.
std::size_t cased_length(std::string_view text, const CasedRules& rules);
/// Scanner::kDeepseek3. Returns 0 when the pattern does not match.
std::size_t deepseek3_length(std::string_view text);

}  // namespace ingot
