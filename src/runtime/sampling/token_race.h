// TokenRace: draws a token by noise, and computes the noise only of tokens that may win.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "backend/host_kernels.h"
#include "runtime/sampling/candidates.h"
#include "runtime/sampling/draw_noise.h"

namespace ingot {

/// Returns a number that is at most log(x), and at least log(x) - 0.07, for a normal x > 0.
double log_lower_bound(double x);

/// The token with the largest key so far.
struct Leader {
  std::int32_t id = -1;
  double key = -std::numeric_limits<double>::infinity();

  /// Takes the place if `other` is larger. If the keys are equal, the lower id leads.
  void challenge(std::int32_t other_id, double other);
};

/// Finds the token with the largest key, key = (logit - largest) * scale - log(x) in double. x is
/// the token's noise. Tokens that cannot win are skipped by bounds on their keys.
///
/// The noise has a minimum in each group of 256 ids. So most groups of a row are skipped by one
/// comparison, and few logarithms are computed.
class TokenRace {
 public:
  /// `noise` must outlive this object. `largest` is at least the largest logit that enters.
  TokenRace(const DrawNoise& noise, float largest, float scale);

  /// Begins with the tokens of ids [256 group, 256 (group + 1)). Returns the least logit that may
  /// win, or +Inf if none may win. A logit of -Inf never wins.
  float begin_group(std::int64_t group);
  /// Enters a token of the group that was begun.
  void enter(std::int32_t id, float logit);
  /// Returns the token with the largest key.
  std::int32_t winner() const { return leader_.id; }

 private:
  const DrawNoise& noise_;
  double largest_;
  double scale_;
  double inverse_scale_;
  NoiseGroup group_;
  Leader leader_;
};

/// Draws from all tokens of a row. `best` is the token with the largest logit.
std::int32_t draw_of_row(const HostKernels& kernels, const ScannedRow& row, std::int32_t best,
                         const DrawNoise& noise);

/// Draws from a list of tokens of a row.
///
/// Shapes: logits and ids [n], n > 0; ids rise.
std::int32_t draw_of_list(std::span<const float> logits, std::span<const std::int32_t> ids,
                          const ScannedRow& row, const DrawNoise& noise);

}  // namespace ingot
