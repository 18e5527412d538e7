// Descriptors: the limit on files and sockets that the process has open.
#pragma once

#include <cstdint>

namespace ingot {

/// Raises the process's limit to `wanted` descriptors, as far as the system allows; returns the new
/// limit. A higher limit stays.
std::int64_t raise_descriptor_limit(std::int64_t wanted);

}  // namespace ingot
