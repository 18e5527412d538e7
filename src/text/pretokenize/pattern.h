// Pattern: a literal text or a regular expression of a tokenizer.json, compiled.
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

/// Most bytes of a literal or a regular expression; real ones have up to 1 500.
constexpr std::size_t kPatternBytesMax = 16'384;

/// A compiled pattern. Immutable; any number of threads can use it.
///
/// A known regular expression runs as a scanner. Others run in PCRE2 with the meaning that they
/// have in Oniguruma, the library of Hugging Face's tokenizers; see regex_syntax.h. Each invalid
/// byte is a character without category.
class Pattern {
 public:
  /// A literal text; an empty one never matches. `file` is for error messages.
  ///
  /// Errors:  model_error for one that is longer than kPatternBytesMax.
  static Pattern literal(std::string_view text, std::string_view file);
  /// A regular expression.
  ///
  /// Errors:  model_error for one that is too long, not valid or not supported.
  static Pattern regex(std::string_view source, std::string_view file);

  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;
  ~Pattern();

  /// Calls `each(begin, end)` for every match from left to right. An empty match directly behind
  /// the previous match is skipped.
  ///
  /// Cost:    linear for a literal or a scanner; else at most kRegexStepsPerByte steps per byte,
  /// and
  ///          kRegexBytesMax of memory.
  /// Errors:  Error{kInvalid} when the expression exceeds either limit.
  void find_all(std::string_view text, FunctionRef<void(std::size_t, std::size_t)> each) const;

  /// Cuts `text` by the matches. Cost and errors are those of find_all.
  void split(std::string_view text, SplitBehavior behavior, bool invert, EachPiece each) const;

  /// `text` with every match replaced by `content`.
  ///
  /// Errors:  those of find_all; Error{kInvalid} when the result exceeds `bytes_max` bytes.
  std::string replace(std::string_view text, std::string_view content, std::size_t bytes_max) const;

  /// The scanner of a recognised regular expression.
  std::optional<Scanner> scanner() const { return scanner_; }

 private:
  class Regex;
  Pattern();

  PieceTrie literal_;
  std::optional<Scanner> scanner_;
  std::unique_ptr<const Regex> regex_;
};

/// Limits on the steps of a regular expression in one text: a number per byte plus a constant. A
/// step tries one item of the expression or passes one byte. Without them a hostile expression
/// could run for exponential time.
constexpr std::size_t kRegexStepsPerByte = 64;
constexpr std::size_t kRegexStepsMin = 1'000'000;
/// Memory for one match.
constexpr std::size_t kRegexHeapKiB = 65'536;

}  // namespace ingot
