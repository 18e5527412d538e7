// Cuts a text at the matches of a pattern, for every pre-tokenizer.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/function_ref.h"
#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// Receives the pieces of a text from left to right.
using EachPiece = FunctionRef<void(std::string_view)>;

/// Cuts a text at matches that arrive from left to right, as Hugging Face's tokenizers do. Text
/// between matches is a piece too; an empty match cuts; empty pieces are dropped.
///
/// Cost:    constant memory; nothing allocates.
/// Source:  tokenizers, SplitDelimiterBehavior.
class MatchCutter {
 public:
  /// `invert` swaps the roles of matches and the text between them.
  MatchCutter(std::string_view text, SplitBehavior behavior, bool invert, EachPiece each)
      : text_(text), each_(each), behavior_(behavior), invert_(invert) {}

  /// Takes the match [begin, end), which begins at or behind the end of the previous one.
  void match(std::size_t begin, std::size_t end) {
    if (at_ < begin) add({at_, begin, invert_});
    add({begin, end, !invert_});
    at_ = end;
  }
  /// Ends the text: no match follows.
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
  std::size_t at_ = 0;  // behind the last match
  Stretch held_;        // not told yet, for the next one may join it
  bool after_match_ = false;
};

}  // namespace ingot
