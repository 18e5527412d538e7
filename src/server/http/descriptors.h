// Descriptors: how many files and sockets the process may have open.
#pragma once

#include <cstdint>

namespace ingot {

/// Raises the process's limit to `wanted` descriptors, as far as the system lets it; returns the
/// limit then. A limit that is higher stays.
std::int64_t raise_descriptor_limit(std::int64_t wanted);

}  // namespace ingot
