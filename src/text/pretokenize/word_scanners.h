// Scanners for pre-tokenizer patterns that cut a text into words, numbers, signs and spaces. Each
// function returns the size in bytes of the first piece of a non-empty text.
#pragma once

#include <cstddef>
#include <string_view>

namespace ingot {

/// Parameters of patterns that resemble Llama 3's pattern.
struct Llama3Rules {
  unsigned letters;        ///< classes of a word's characters, as CharClass bits
  int digits_max;          ///< most characters that one number piece may have
  bool end_spaces;         ///< whether the pattern has \s++$ before \s*[\r\n]+
  bool sign_lines = true;  ///< whether line breaks belong to the signs in front of them
};

/// Parameters of patterns that resemble o200k's pattern.
struct CasedRules {
  bool contractions;  ///< whether a contraction ('s, 't, ...) belongs to the word in front of it
  int digits_max;
};

/// Returns the size in bytes of the first piece that Scanner::kGpt2 cuts off.
std::size_t gpt2_length(std::string_view text);
/// Returns the size in bytes of the first piece for Scanner::kLlama3, kQwen2, kQwen35, kSeed or
/// kCl100k.
std::size_t llama3_length(std::string_view text, const Llama3Rules& rules);
/// Returns the size in bytes of the first piece for Scanner::kO200k or kTekken. An upper-case
/// letter behind a lower-case letter begins a new word: "HTMLPage" is one word, "aB" is two words.
std::size_t cased_length(std::string_view text, const CasedRules& rules);
/// Returns the size in bytes of Scanner::kDeepseek3's match at the start of `text`; 0: no match.
std::size_t deepseek3_length(std::string_view text);

}  // namespace ingot
