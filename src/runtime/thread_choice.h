// Choosing how many threads compute, and on which CPUs, if the user does not say.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "backend/cpu/kernel_table.h"
#include "base/function_ref.h"

namespace ingot {

/// The CPUs, of `cpus`, that a process should compute on with one thread each: one CPU of each
/// core, but no more than the quota of its control groups (whole CPUs, at least one). If cores have
/// several CPUs and the quota allows them, these too when `speed` is then at least 5 % higher. The
/// first ones are of different cores. Empty only if `cpus` is.
///
/// `speed` measures how fast threads on these CPUs are; it is called only if there is a choice.
/// Tests set `root`, which is put before /proc and /sys.
std::vector<std::size_t> choose_cpus(
    std::span<const std::size_t> cpus,
    FunctionRef<double(const std::vector<std::size_t>& cpus)> speed, const std::string& root = "");

/// Chooses from this process's CPUs, measured with the reads and dot products of a kernel table.
/// Takes some tenths of a second at most, or no time if every core has one CPU. Empty if the system
/// does not tell which CPUs the process may use.
std::vector<std::size_t> choose_cpus(const KernelTable& table);

}  // namespace ingot
