// Cutting a text by what a pattern matches in it: what every pre-tokenizer does.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/function_ref.h"
#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// Takes the pieces of a text, from left to right.
using EachPiece = FunctionRef<void(std::string_view)>;

/// Cuts a text at matches that are told from left to right, as Hugging Face's tokenizers cut it.
/// What lies between matches is a stretch too; an empty match cuts; empty pieces are left out.
///
/// Cost:    constant memory; nothing allocates.
/// Source:  tokenizers, SplitDelimiterBehavior.
class MatchCutter {
 public:
  /// With `invert` matches and what lies between them change their roles.
  MatchCutter(std::string_view text, SplitBehavior behavior, bool invert, EachPiece each)
      : text_(text), each_(each), behavior_(behavior), invert_(invert) {}

  /// The match [begin, end), which does not begin before the end of the last one.
  void match(std::size_t begin, std::size_t end) {
    if (at_ < begin) add({at_, begin, invert_});
    add({begin, end, !invert_});
    at_ = end;
  }
  /// No more matches.
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
