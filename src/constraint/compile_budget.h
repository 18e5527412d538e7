// CompileBudget: limits the work of compiling a constraint that a stranger wrote.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"

namespace ingot {

/// The fuel of one compilation. Every loop whose length the input controls spends from it. It
/// counts steps instead of seconds, so that a constraint compiles on every machine or on none.
class CompileBudget {
 public:
  /// About 250 ms of work: a step is one state, transition, node or character.
  static constexpr std::uint64_t kStepsMax = 4'000'000;

  explicit CompileBudget(std::uint64_t steps = kStepsMax) : left_(steps) {}

  /// Errors: Error{kInvalid}: "is too complex" if the budget is exhausted.
  void spend(std::uint64_t steps = 1) {
    if (steps > left_) throw Error(ErrorCode::kInvalid, "is too complex: use a simpler one");
    left_ -= steps;
  }
  std::uint64_t left() const { return left_; }

 private:
  std::uint64_t left_;
};

}  // namespace ingot
