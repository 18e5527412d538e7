// bind_layer: finds and checks the tensors of one layer.
#pragma once

#include <cstdint>

#include "model/bind.h"
#include "model/tensor_finder.h"

namespace ingot {

/// Binds layer `i` of a model. Errors: those of bind_model.
BoundLayer bind_layer(TensorFinder& finder, const Config& config, const Spec& spec, std::int64_t i);

}  // namespace ingot
