// require_supported: refuses a model that the ops of a backend do not compute.
#pragma once

#include <string>

#include "backend/backend.h"
#include "model/model.h"

namespace ingot {

/// Checks that a backend's ops compute the layers and matrices that `options` select, with keys and
/// values of `kv_type`. Also checks that the layers do not need layers that are not selected.
///
/// Errors: Error{kInvalid} that names the file, the device, and what the device does not compute;
/// Error{kInvalid} for layers or a `kv_type` with which no device computes the model.
void require_supported(const BoundModel& bound, const ModelOptions& options, KvType kv_type,
                       const Backend& backend, const std::string& file);

}  // namespace ingot
