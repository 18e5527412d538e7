// LinearObserver: receives the inputs of a backend's linears, to compute importance matrices.
#pragma once

#include "backend/weight.h"
#include "base/view.h"

namespace ingot {

/// Receives the input of each linear of a step, including experts' linears, before the linear runs.
///
/// An observer must not change the input: results are bit-equal with and without an observer.
class LinearObserver {
 public:
  virtual ~LinearObserver() = default;
  /// Called before each linear, by the thread that runs the step. Shapes: in [T, K], w [M, K].
  virtual void linear(View in, const Weight& w) = 0;
};

}  // namespace ingot
