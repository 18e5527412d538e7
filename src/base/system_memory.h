// How much memory this process may still take.
#pragma once

#include <cstdint>

namespace ingot {

/// Bytes that can be allocated without the system having to kill or refuse: the least of the
/// machine's available memory, what control groups leave, and what the address-space limit leaves.
/// Unreadable sources do not count.
std::int64_t available_memory();

}  // namespace ingot
