// How much memory this process can still allocate.
#pragma once

#include <cstdint>
#include <string>

namespace ingot {

/// Bytes that can be allocated before the system refuses or kills: the least of the machine's
/// available memory, the rest of the control groups' limits, and the rest of the address-space
/// limit. Sources that cannot be read do not count.
std::int64_t available_memory();

/// Bytes that this process's control groups and those above them leave, the least of all, by
/// version 2, by version 1's memory controller, or by both where a system has both. The largest
/// number where nothing is limited or readable.
///
/// `root` is prepended to /proc and /sys, for tests.
std::int64_t control_group_memory(const std::string& root = "");

/// Bytes of memory that this process holds; 0 where the system does not say.
std::int64_t resident_memory();

}  // namespace ingot
