// Scanners for the patterns that cut text into words, numbers, signs and spaces. Each function
// gives the bytes of the first piece of a text that is not empty and starts where a piece ends.
#pragma once

#include <cstddef>
#include <string_view>

namespace ingot {

/// How patterns of Llama 3's kind differ.
struct Llama3Rules {
  unsigned letters;  ///< classes that words are made of
  int digits_max;    ///< characters of one number
  bool end_spaces;   ///< \s++$ comes before \s*[\r\n]
};

/// How patterns of o200k's kind differ.
struct CasedRules {
  bool contractions;  ///< words end with 's, 't, ...
  int digits_max;
};

/// Scanner::kGpt2.
std::size_t gpt2_length(std::string_view text);
/// Scanner::kLlama3, kQwen2, kQwen35 and kCl100k.
std::size_t llama3_length(std::string_view text, const Llama3Rules& rules);
/// Scanner::kO200k and kTekken. Words change from upper to lower case only once: "HTMLPage" is one,
/// "aB" is "a", "B".
std::size_t cased_length(std::string_view text, const CasedRules& rules);
/// Scanner::kDeepseek3. 0 where the pattern does not match.
std::size_t deepseek3_length(std::string_view text);

}  // namespace ingot
