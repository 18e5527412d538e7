// Pattern: a compiled literal text or regular expression of a tokenizer.json.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/function_ref.h"
#include "text/pretokenize/pretokenize.h"
#include "text/pretokenize/split.h"
#include "text/tokenizer/piece_trie.h"

namespace ingot {

/// Limit on the bytes of a literal or a regular expression. Real patterns have up to 1,500 bytes.
constexpr std::size_t kPatternBytesMax = 16'384;

/// A compiled pattern. Immutable; any number of threads can use it.
///
/// The regular expressions of common models run as hand-written Scanners. PCRE2 runs all other
/// expressions, translated from the Oniguruma syntax of Hugging Face's tokenizers (see
/// regex_syntax.h). A byte of invalid UTF-8 counts as a character without category.
class Pattern {
 public:
  /// Makes a pattern that matches `text`; an empty text never matches. Error messages name `file`.
  ///
  /// Errors:  model_error for a text longer than kPatternBytesMax.
  static Pattern literal(std::string_view text, std::string_view file);
  /// Compiles a regular expression in Oniguruma's syntax. Error messages name `file`.
  ///
  /// Errors:  model_error for an expression that is too long, invalid or not supported.
  static Pattern regex(std::string_view source, std::string_view file);

  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;
  ~Pattern();

  /// Calls `each(begin, end)` for every match from left to right. Skips an empty match that lies
  /// directly behind the previous match.
  ///
  /// Cost:    linear for a literal or a scanner. PCRE2 takes at most kRegexStepsMin steps plus
  ///          kRegexStepsPerByte steps per byte, and kRegexHeapKiB of memory.
  /// Errors:  Error{kInvalid} if PCRE2 exceeds a limit.
  void find_all(std::string_view text, FunctionRef<void(std::size_t, std::size_t)> each) const;

  /// Uses a MatchCutter to cut `text` at the matches. Cost and errors: those of `find_all`.
  void split(std::string_view text, SplitBehavior behavior, bool invert, EachPiece each) const;

  /// Returns `text` with every match replaced by `content`.
  ///
  /// Errors:  those of `find_all`; Error{kInvalid} if the result exceeds `bytes_max` bytes.
  std::string replace(std::string_view text, std::string_view content, std::size_t bytes_max) const;

  /// Returns the scanner that runs the pattern; nothing if the pattern is a literal or uses PCRE2.
  std::optional<Scanner> scanner() const { return scanner_; }

 private:
  class Regex;
  Pattern();

  PieceTrie literal_;
  std::optional<Scanner> scanner_;
  std::unique_ptr<const Regex> regex_;
};

/// Limit on a regular expression's steps in a text: kRegexStepsMin + kRegexStepsPerByte * bytes.
/// A step tries one element of the expression or passes one byte of the text. Without a limit a
/// hostile expression runs for exponential time.
constexpr std::size_t kRegexStepsPerByte = 64;
constexpr std::size_t kRegexStepsMin = 1'000'000;
/// Limit on PCRE2's memory for one match, in KiB (64 MiB in total). It stops hostile expressions.
constexpr std::size_t kRegexHeapKiB = 65'536;

}  // namespace ingot
