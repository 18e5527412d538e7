// logit_deviation: the standard deviation of a row of logits, for top_n_sigma.
#pragma once

#include <span>

namespace ingot {

/// Returns the standard deviation (of the whole population) of all logits that are not -Inf; 0 if
/// there are fewer than two. Sums doubles in eight lanes: logit i belongs to lane i modulo 8.
///
/// Shapes: logits [n], no NaN or +Inf.
double logit_deviation(std::span<const float> logits);

}  // namespace ingot
