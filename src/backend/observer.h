// LinearObserver: sees the inputs of a backend's linears, for importance matrices.
#pragma once

#include "backend/weight.h"
#include "base/view.h"

namespace ingot {

/// Sees the input of each linear of a step, including those of experts, before it is computed.
///
/// It must not change the input: bits are equal with and without an observer.
class LinearObserver {
 public:
  virtual ~LinearObserver() = default;
  /// Shapes: in [T, K], w [M, K]. The thread that runs the step calls it between ops.
  virtual void linear(View in, const Weight& w) = 0;
};

}  // namespace ingot
