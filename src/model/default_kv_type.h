// default_kv_type: the type of keys and values of a model if the user names none.
#pragma once

#include <optional>

#include "backend/ops.h"
#include "model/bind.h"

namespace ingot {

/// Returns kBF16 if more than half of the bytes of the layers' matrices are BF16, else kF16. A
/// matrix counts in the format that it has in memory, with `weights` as ModelOptions::weights. So
/// the type depends on the file and on `weights`, and never on the machine or on the loaded layers.
KvType default_kv_type(const BoundModel& bound, std::optional<Format> weights);

}  // namespace ingot
