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
/// Regular expressions of common models run as hand-written Scanners. The others are translated
/// from Oniguruma's syntax, which Hugging Face's tokenizers use, and run in PCRE2 (see
/// regex_syntax.h). An invalid byte counts as a character without category.
class Pattern {
 public:
  /// A literal text; an empty text never matches. `file` is for error messages.
  ///
  /// Errors:  model_error for a text longer than kPatternBytesMax.
  static Pattern literal(std::string_view text, std::string_view file);
  /// A regular expression in Oniguruma's syntax.
  ///
  /// Errors:  model_error for an expression that is too long, invalid or not supported.
  static Pattern regex(std::string_view source, std::string_view file);

  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;
  ~Pattern();

  /// Calls `each(begin, end)` for every match from left to right. An empty match directly behind
  /// the previous match is skipped.
  ///
  /// Cost:    linear for a literal or a scanner. In PCRE2 at most kRegexStepsPerByte steps per byte
  ///          plus kRegexStepsMin, and kRegexHeapKiB of memory.
  /// Errors:  Error{kInvalid} if PCRE2 exceeds a limit.
  void find_all(std::string_view text, FunctionRef<void(std::size_t, std::size_t)> each) const;

  /// Cuts `text` at the matches, as `behavior` says. Cost and errors: those of `find_all`.
  void split(std::string_view text, SplitBehavior behavior, bool invert, EachPiece each) const;

  /// `text` with every match replaced by `content`.
  ///
  /// Errors:  those of `find_all`; Error{kInvalid} if the result exceeds `bytes_max` bytes.
  std::string replace(std::string_view text, std::string_view content, std::size_t bytes_max) const;

  /// The scanner that runs this expression; nothing if PCRE2 runs it.
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
/// Limit on the memory that PCRE2 uses for one match, in KiB.
constexpr std::size_t kRegexHeapKiB = 65'536;

}  // namespace ingot
