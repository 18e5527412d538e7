// LinearObserver: sees the inputs of a backend's linears, beside the mathematics.
#pragma once

#include "backend/weight.h"
#include "base/view.h"

namespace ingot {

/// Sees what goes into each linear of a step, those of experts included, before it is computed.
///
/// It must not change anything: bits are the same with and without one.
class LinearObserver {
 public:
  virtual ~LinearObserver() = default;
  /// Shapes: in [T, K], w [M, K]. Called between ops, by the thread that runs the step.
  virtual void linear(View in, const Weight& w) = 0;
};

}  // namespace ingot
