// What tokenizer.json files look for in texts: a literal text or a regular expression.
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
/// A known regular expression is a scanner, others run in PCRE2 and mean what Oniguruma, which
/// Hugging Face's tokenizers use, means by them; see regex_syntax.h. Bytes that are not valid UTF-8
/// are characters without category, one each.
class Pattern {
 public:
  /// A text that is looked for as it is; nothing matches an empty one. `file` is for error
  /// messages.
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

  /// Calls `each(begin, end)` for every match, from left to right; empty matches count unless one
  /// stands where the last match ended.
  ///
  /// Cost:    linear for a literal or a scanner; for any other expression at most
  /// kRegexStepsPerByte
  ///          steps a byte, and the memory that PCRE2 may take.
  /// Errors:  Error{kInvalid} when the expression needs more of either.
  void find_all(std::string_view text, FunctionRef<void(std::size_t, std::size_t)> each) const;

  /// Cuts `text` by the matches. Cost and errors are those of find_all.
  void split(std::string_view text, SplitBehavior behavior, bool invert, EachPiece each) const;

  /// `text` with `content` for every match.
  ///
  /// Errors:  as find_all; Error{kInvalid} when the result has more than `bytes_max` bytes.
  std::string replace(std::string_view text, std::string_view content, std::size_t bytes_max) const;

  /// The scanner that a regular expression was recognised as.
  std::optional<Scanner> scanner() const { return scanner_; }

 private:
  class Regex;
  Pattern();

  PieceTrie literal_;
  std::optional<Scanner> scanner_;
  std::unique_ptr<const Regex> regex_;
};

/// Steps that a regular expression may take in a text: so many for each byte and so many besides. A
/// step is an item of the expression that is tried, or a byte that is passed while trying.
constexpr std::size_t kRegexStepsPerByte = 64;
constexpr std::size_t kRegexStepsMin = 1'000'000;
/// Memory for one match.
constexpr std::size_t kRegexHeapKiB = 65'536;

}  // namespace ingot
