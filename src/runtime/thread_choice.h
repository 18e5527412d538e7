// choose_cpus: the default number of compute threads and the CPUs that they run on.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "backend/host_kernels.h"
#include "base/function_ref.h"

namespace ingot {

/// Chooses CPUs from `cpus`, one for each compute thread. Takes one CPU of each core, up to the CPU
/// quota of the process's control groups (rounded down, at least one). Also takes the cores' other
/// CPUs, up to the quota, if this raises `speed` by at least 5 %. The first CPUs in the result are
/// of different cores. Returns no CPUs only if `cpus` is empty.
///
/// `speed` measures how fast threads compute on given CPUs. `speed` is called only if there is a
/// choice. Tests set `root`, a prefix of the paths /proc and /sys.
std::vector<std::size_t> choose_cpus(
    std::span<const std::size_t> cpus,
    FunctionRef<double(const std::vector<std::size_t>& cpus)> speed, const std::string& root = "");

/// Chooses from the CPUs that this process may use. If a core has several CPUs, measures the speed
/// of memory reads and dot products with `kernels`. This takes some tenths of a second at most.
/// Returns no CPUs if the system does not tell which CPUs the process may use.
std::vector<std::size_t> choose_cpus(const HostKernels& kernels);

}  // namespace ingot
