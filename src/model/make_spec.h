// make_spec: turns a model's configuration into the Spec that the forward pass reads.
#pragma once

#include <cstdint>

#include "load/config.h"
#include "model/spec.h"

namespace ingot {

/// Makes the Spec of a validated Config, without vocabulary and tie, which depend on tensors.
///
/// `context`: the user's limit on tokens of a sequence, 0 for the default. It chooses the factors
/// of a longrope embedding: the long ones only above the original context. The default context of
/// such a model is the original context.
Spec make_spec(const Config& config, std::int64_t context);

}  // namespace ingot
