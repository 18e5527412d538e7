// Pre-tokenizers: hand-written scanners for the patterns that cut text before the model sees it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "text/pretokenize/split.h"

namespace ingot {

/// A pattern that a scanner matches. L, M, N, P, S and their parts are Unicode's general
/// categories; an invalid byte is a character of no category.
enum class Scanner : std::uint8_t {
  // Patterns that match everywhere: every piece is a match.

  /// GPT-2: 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
  kGpt2,
  /// Llama 3: (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}
  /// | ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
  kLlama3,
  kQwen2,   ///< Llama 3's with \p{N} for \p{N}{1,3}
  kQwen35,  ///< Qwen 2's with [\p{L}\p{M}]+ for \p{L}+ and [^\s\p{L}\p{M}\p{N}]+ for signs
  kCl100k,  ///< Llama 3's with \s++$ before \s*[\r\n]+
  /// GPT-4o: [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+
  /// (?i:'s|'t|'re|'ve|'m|'ll|'d)?, then that word with + and * swapped, then \p{N}{1,3}
  /// | ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
  kO200k,
  kTekken,  ///< GPT-4o's without contractions and with \p{N} for \p{N}{1,3}

  // Patterns that leave unmatched text between their matches.

  /// DeepSeek V3's last: [ASCII punctuation][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+
  /// | ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
  kDeepseek3,
  kWord,                 ///< \w+|[^\w\s]+, where \w is that of Unicode Technical Standard 18
  kSpace,                ///< \s
  kNewline,              ///< [\r\n]
  kNumber,               ///< \p{N}
  kNumbers,              ///< \p{N}+
  kNumbersBy3,           ///< \p{N}{1,3}
  kDigitsBy3,            ///< [0-9][0-9][0-9]
  kByteNumbers,          ///< bytes whose letters in GPT-2's byte alphabet are \p{N}+
  kPunctuation,          ///< [\p{P}$+<=>^`|~], BERT's punctuation
  kPunctuationRun,       ///< [\p{P}$+<=>^`|~]+
  kDefaultPunctuation,   ///< [\p{P}$+<=>^~|]+
  kSpacedLetters,        ///< \s?\p{L}+
  kSpacedPunctuation,    ///< \s?\p{P}+
  kDeepseekLetters,      ///< \s?[letters that have case]+, see deepseek_letters.h
  kDeepseekPunctuation,  ///< \s?[!-/:-~！-／：-～‘-‟　-。]+
  kSpacesAtEnd,          ///< \s+$, at the end of the text
  kCjkAndBefore,         ///< [一-龥ࠀ-一가-퟿]+
  kCjkAndKana,           ///< [一-龥぀-ゟ゠-ヿ]+
};

/// Cuts `text` by a scanner's matches.
///
/// Cost:    linear in the text; no recursion, no memory.
void split(Scanner scanner, std::string_view text, SplitBehavior behavior, bool invert,
           EachPiece each);

/// Calls `each(begin, end)` for a scanner's matches, from left to right.
void find_all(Scanner scanner, std::string_view text,
              FunctionRef<void(std::size_t, std::size_t)> each);

/// A pre-tokenizer with a name in GGUF files: scanners in order, each cutting the pieces of the
/// previous one. Every match, and all text between matches, is a piece.
class Pretokenizer {
 public:
  explicit constexpr Pretokenizer(std::span<const Scanner> scanners) : scanners_(scanners) {}

  std::span<const Scanner> scanners() const { return scanners_; }

  /// Calls `each` for the pieces of `text` from left to right; joined they give `text`.
  ///
  /// Cost:    linear; one level of recursion per scanner, at most 6.
  void split(std::string_view text, EachPiece each) const;

 private:
  std::span<const Scanner> scanners_;
};

/// The pre-tokenizer of a GGUF's `tokenizer.ggml.pre` for byte-level BPE; nothing for an unknown
/// name.
///
/// Source:  names from llama.cpp's conversion script, patterns from the models' tokenizer.json.
std::optional<Pretokenizer> find_pretokenizer(std::string_view name);

/// The names that find_pretokenizer knows, for error messages: "a, b, c".
std::string pretokenizer_names();

/// The scanner of a regular expression as tokenizer.json files spell it, or nothing.
std::optional<Scanner> find_scanner(std::string_view regex);

}  // namespace ingot
