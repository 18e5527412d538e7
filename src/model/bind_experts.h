// bind_experts: finds and checks a layer's router, experts and shared experts.
#pragma once

#include <cstdint>

#include "model/bind.h"
#include "model/tensor_finder.h"

namespace ingot {

/// Binds the mixture of experts of layer `i` into `layer`. Errors: those of bind_model.
void bind_experts(TensorFinder& finder, const Spec& spec, std::int64_t i, BoundLayer& layer);

}  // namespace ingot
