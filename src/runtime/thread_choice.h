// How many threads to compute with, and on which CPUs, where nobody says.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "backend/cpu/kernel_table.h"
#include "base/function_ref.h"

namespace ingot {

/// The CPUs that a process computes on, a thread on each, of those that it may use: one of each
/// core, no more than its control groups give it time for (whole CPUs, at least one). Where cores
/// have several CPUs and the groups allow them, these too if `speed` is then at least a twentieth
/// higher. The first ones are of different cores; empty only if `cpus` is.
///
/// `speed` measures how fast threads on these CPUs are, one on each; it is asked only where there
/// is a choice. `root` comes before /proc and /sys, for tests.
std::vector<std::size_t> choose_cpus(
    std::span<const std::size_t> cpus,
    FunctionRef<double(const std::vector<std::size_t>& cpus)> speed, const std::string& root = "");

/// The same for this process, measured with the reads and dot products of a kernel table: some
/// tenths of a second at most, or nothing where every core has one CPU. Empty if the system does
/// not say what it may use.
std::vector<std::size_t> choose_cpus(const KernelTable& table);

}  // namespace ingot
