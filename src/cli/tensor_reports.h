// Shows what a command wrote of each tensor, as text or JSON.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "convert/quantise.h"
#include "load/json.h"

namespace ingot {

/// Returns the bytes of all tensors.
std::uint64_t total_bytes(std::span<const TensorReport> reports);

/// Returns an array with an object for each tensor.
Json tensors_json(std::span<const TensorReport> reports);

/// Returns a line for each tensor, and a last line with the bytes of all.
std::string tensors_text(std::span<const TensorReport> reports);

}  // namespace ingot
