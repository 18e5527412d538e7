// Raises the limit on files and sockets that the process may have open.
#pragma once

#include <cstdint>

namespace ingot {

/// Raises the limit on open descriptors to `wanted`, or as far as the system allows. Never lowers
/// the limit. Returns the resulting limit.
std::int64_t raise_descriptor_limit(std::int64_t wanted);

}  // namespace ingot
