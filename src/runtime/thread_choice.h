// How many threads to compute with where nobody says.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "backend/cpu/kernel_table.h"
#include "base/function_ref.h"

namespace ingot {

/// The number of threads, at least 1, for a process that may use `cpus`: one for each core, and no
/// more than its control groups give it time for. Where cores have several CPUs and the groups
/// allow it, one for each CPU if `speed` of those is at least a twentieth higher.
///
/// `speed` measures how fast threads on these CPUs are, one on each; it is asked only where there
/// is a choice. `root` comes before /proc and /sys, for tests.
int choose_threads(std::span<const std::size_t> cpus,
                   FunctionRef<double(const std::vector<std::size_t>& cpus)> speed,
                   const std::string& root = "");

/// The same for this process, measured with the reads and dot products of a kernel table: some
/// hundredths of a second, or nothing where every core has one CPU.
int choose_threads(const KernelTable& table);

}  // namespace ingot
