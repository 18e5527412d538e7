// Pre-tokenizers: hand-written scanners for the regular expressions that cut a text into pieces.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "text/pretokenize/split.h"

namespace ingot {

/// The patterns that have a hand-written scanner. \p{...} is a general category of Unicode. A byte
/// of invalid UTF-8 counts as a character without category.
enum class Scanner : std::uint8_t {
  // Patterns whose matches cover the whole text.

  /// GPT-2: 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
  kGpt2,
  /// Llama 3: (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}
  /// | ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
  kLlama3,
  kQwen2,   ///< Llama 3's pattern with \p{N} in place of \p{N}{1,3}
  kQwen35,  ///< Qwen 2's pattern; words are [\p{L}\p{M}]+ and signs are [^\s\p{L}\p{M}\p{N}]+
  kSeed,    ///< Qwen 2's pattern without [\r\n]* behind signs
  kCl100k,  ///< Llama 3's pattern with \s++$ in front of \s*[\r\n]+
  /// GPT-4o: [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+
  /// (?i:'s|'t|'re|'ve|'m|'ll|'d)?, or the same with * and + exchanged, or \p{N}{1,3}
  /// | ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
  kO200k,
  kTekken,  ///< GPT-4o's pattern without contractions, and with \p{N} in place of \p{N}{1,3}

  // Patterns with unmatched text between their matches.

  /// DeepSeek V3's last pattern: [ASCII punctuation][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+
  /// | ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
  kDeepseek3,
  kWord,                 ///< \w+|[^\w\s]+, with \w of Unicode Technical Standard 18
  kSpace,                ///< \s
  kNewline,              ///< [\r\n]
  kNumber,               ///< \p{N}
  kNumbers,              ///< \p{N}+
  kNumbersBy3,           ///< \p{N}{1,3}
  kDigitsBy3,            ///< [0-9][0-9][0-9]
  kByteNumbers,          ///< a run of bytes whose letters in GPT-2's byte alphabet are \p{N}
  kPunctuation,          ///< [\p{P}$+<=>^`|~], BERT's punctuation
  kPunctuationRun,       ///< [\p{P}$+<=>^`|~]+
  kDefaultPunctuation,   ///< [\p{P}$+<=>^~|]+
  kSpacedLetters,        ///< \s?\p{L}+
  kSpacedPunctuation,    ///< \s?\p{P}+
  kDeepseekLetters,      ///< \s?[letters that have case]+, see deepseek_letters.h
  kDeepseekPunctuation,  ///< \s?[!-/:-~！-／：-～‘-‟　-。]+
  kSpacesAtEnd,          ///< \s+ at the end of the text
  kCjkAndBefore,         ///< [一-龥ࠀ-一가-퟿]+
  kCjkAndKana,           ///< [一-龥぀-ゟ゠-ヿ]+
};

/// Cuts `text` by `behavior` at a scanner's matches; with `invert`, at the texts between matches.
///
/// Cost:    linear in the text; no recursion, no allocation.
void split(Scanner scanner, std::string_view text, SplitBehavior behavior, bool invert,
           EachPiece each);

/// Calls `each(begin, end)` for each match of a scanner, from left to right.
void find_all(Scanner scanner, std::string_view text,
              FunctionRef<void(std::size_t, std::size_t)> each);

/// Returns the scanners of the byte-level BPE pre-tokenizer with this name; empty if the name is
/// unknown. GGUF's `tokenizer.ggml.pre` has such a name. Each scanner cuts the previous scanner's
/// pieces. Matches are pieces, and so are the texts between matches.
///
/// Source:  names: llama.cpp's conversion script; patterns: the models' tokenizer.json.
std::span<const Scanner> find_pretokenizer(std::string_view name);

/// Returns all names that `find_pretokenizer` knows, for error messages: "a, b, c".
std::string pretokenizer_names();

/// Returns the scanner whose pattern has exactly the text `regex`; nothing if there is none.
std::optional<Scanner> find_scanner(std::string_view regex);

}  // namespace ingot
