// MatchCutter: holds one piece back until it is known whether the next stretch joins it.
#include "text/pretokenize/split.h"

namespace ingot {

void MatchCutter::add(Stretch next) {
  if (joins(next)) {
    held_.end = next.end;
    held_.match = false;
  } else {
    tell(held_);
    held_ = next;
  }
  after_match_ = next.match;
}

/// Whether `next` joins the piece that is held back. At the start of a text this is an empty
/// piece.
bool MatchCutter::joins(const Stretch& next) const {
  switch (behavior_) {
    case SplitBehavior::kRemoved:
    case SplitBehavior::kIsolated:
      return false;
    case SplitBehavior::kMergedWithPrevious:
      return next.match && !after_match_;
    case SplitBehavior::kMergedWithNext:
      return !next.match && held_.match;
    case SplitBehavior::kContiguous:
      return next.match == after_match_;
  }
  return false;
}

void MatchCutter::tell(const Stretch& piece) const {
  if (piece.begin == piece.end || (piece.match && behavior_ == SplitBehavior::kRemoved)) return;
  each_(text_.substr(piece.begin, piece.end - piece.begin));
}

}  // namespace ingot
