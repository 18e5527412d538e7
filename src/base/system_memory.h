// How much memory this process may still take.
#pragma once

#include <cstdint>
#include <string>

namespace ingot {

/// Bytes that can be allocated without the system having to kill or refuse: the least of the
/// machine's available memory, what control groups leave, and what the address-space limit leaves.
/// Unreadable sources do not count.
std::int64_t available_memory();

/// The least that this process's control groups and those above them leave: of version 2, of
/// version 1's memory controller, or both where a system has them side by side. The largest number
/// where nothing is limited or readable.
///
/// `root` comes before /proc and /sys, for tests.
std::int64_t control_group_memory(const std::string& root = "");

/// Bytes of memory that this process holds; 0 where the system does not say.
std::int64_t resident_memory();

}  // namespace ingot
