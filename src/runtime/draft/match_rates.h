// MatchRates: how often the token behind a match of a given length is drawn next.
#pragma once

#include <array>
#include <cstdint>

#include "base/index.h"

namespace ingot {

/// Counts by length of match. Longer matches are right more often, so each class of lengths has its
/// own rate. Old counts fade.
class MatchRates {
 public:
  /// Returns the estimated rate of matches of `length` tokens. `general` stands for kGeneral trials
  /// of each class.
  double rate(std::int64_t length, const MatchRates& general) const;
  /// Like `rate`, from this object's own counts and a first guess.
  double rate(std::int64_t length) const;
  /// Counts a trial: whether the token behind a match of `length` tokens was drawn.
  void add(std::int64_t length, bool is_drawn);

 private:
  /// Classes of lengths: 2, 3, 4, 5 to 6, 7 to 8, 9 to 12, 13 to 16, 17 to 32, longer.
  static constexpr std::int32_t kClasses = 9;
  struct Counts {
    double trials = 0;
    double drawn = 0;
  };
  static std::size_t class_of(std::int64_t length);

  std::array<Counts, to_size(kClasses)> counts_{};
};

}  // namespace ingot
