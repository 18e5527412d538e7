// Available and resident memory of this process.
#pragma once

#include <cstdint>
#include <string>

namespace ingot {

/// Returns the bytes that this process can allocate before the system refuses or kills it: the
/// smallest of the machine's available memory, the unused part of the control groups' limits, and
/// the unused part of the address-space limit. Ignores limits that it cannot read.
std::int64_t available_memory();

/// Returns the bytes that this process can still use under the limits of its control groups and
/// their parents (cgroups of version 2, and the memory controller of version 1). Returns the
/// largest std::int64_t if there is no limit or no limit can be read.
///
/// `root` is prepended to /proc and /sys, for tests.
std::int64_t control_group_memory(const std::string& root = "");

/// Returns the bytes of physical memory that this process uses (resident set); 0 if unknown.
std::int64_t resident_memory();

}  // namespace ingot
