// MatchCutter: cuts a text into pieces at the matches of a pattern, for all pre-tokenizers.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/function_ref.h"
#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// Callback that receives the pieces of a text from left to right.
using EachPiece = FunctionRef<void(std::string_view)>;

/// Cuts a text at matches by the rules of Hugging Face's tokenizers. Matches arrive from left to
/// right. The texts between them are pieces, too. An empty match also cuts. Drops empty pieces.
///
/// Cost:    no allocation.
/// Source:  Hugging Face's tokenizers, SplitDelimiterBehavior.
class MatchCutter {
 public:
  /// Passes each piece to `each`. `invert` swaps the roles of matches and texts between matches.
  MatchCutter(std::string_view text, SplitBehavior behavior, bool invert, EachPiece each)
      : text_(text), each_(each), behavior_(behavior), invert_(invert) {}

  /// Adds the match [begin, end). A match must not begin before the end of the previous match.
  void match(std::size_t begin, std::size_t end) {
    if (at_ < begin) add({at_, begin, invert_});
    add({begin, end, !invert_});
    at_ = end;
  }
  /// Cuts the rest of the text. Call it once, after the last match.
  void finish() {
    if (at_ < text_.size()) add({at_, text_.size(), invert_});
    tell(held_);
  }

 private:
  struct Stretch {
    std::size_t begin = 0;
    std::size_t end = 0;
    bool match = false;
  };
  void add(Stretch next);
  bool joins(const Stretch& next) const;
  void tell(const Stretch& piece) const;

  std::string_view text_;
  EachPiece each_;
  SplitBehavior behavior_;
  bool invert_;
  std::size_t at_ = 0;  // byte at which the last match ends
  Stretch held_;        // last piece; each_ receives it later, because more text may join it
  bool after_match_ = false;
};

}  // namespace ingot
