// MatchBudget: limits the work of matching one adapter's configuration against names of modules.
#pragma once

#include <cstdint>

namespace ingot {

/// Steps that the names, keys and expressions of one configuration may take together, for all
/// modules of the file and of the model. 50,000 modules and an expression take 10 million. A
/// million steps take about 20 ms. Without a limit a hostile file takes hours.
inline constexpr std::uint64_t kConfigStepsMax = 20'000'000;
/// Further steps for each pair of the file. A rank_pattern and an alpha_pattern with an expression
/// for each of 48 layers take about 4,000.
inline constexpr std::uint64_t kPairStepsMax = 5'000;

/// Counts steps of matching. A step tries one item of an expression at one place, or compares a
/// byte of a key.
class MatchBudget {
 public:
  explicit MatchBudget(std::uint64_t steps_max) : steps_max_(steps_max) {}

  /// Takes steps. Returns false if fewer are left; the budget is then used up.
  [[nodiscard]] bool take(std::uint64_t steps) {
    const bool enough = steps <= steps_max_ - steps_;
    steps_ = enough ? steps_ + steps : steps_max_;
    return enough;
  }
  /// Allows further steps.
  void allow(std::uint64_t steps) { steps_max_ += steps; }
  /// Returns the number of steps taken.
  std::uint64_t steps() const { return steps_; }
  std::uint64_t steps_max() const { return steps_max_; }

 private:
  std::uint64_t steps_max_;
  std::uint64_t steps_ = 0;
};

}  // namespace ingot
