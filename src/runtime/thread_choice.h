// choose_cpus: the default number of compute threads and the CPUs that they run on.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "backend/host_kernels.h"
#include "base/function_ref.h"

namespace ingot {

/// Chooses CPUs from `cpus` for one compute thread each: one CPU of each core, but no more than the
/// quota of the process's control groups (whole CPUs, at least one). Adds the cores' other CPUs, as
/// far as the quota allows, if `speed` is then at least 5 % higher. The first CPUs are of different
/// cores. The result is empty only if `cpus` is empty.
///
/// `speed` measures how fast threads on given CPUs compute. It is called only if there is a choice.
/// `root` is a prefix for the paths /proc and /sys, which tests set.
std::vector<std::size_t> choose_cpus(
    std::span<const std::size_t> cpus,
    FunctionRef<double(const std::vector<std::size_t>& cpus)> speed, const std::string& root = "");

/// Chooses from the CPUs that this process may use. Measures speed with reads and dot products of
/// `kernels`, for some tenths of a second at most; not if every core has one CPU. Returns no CPUs
/// if the system does not tell which CPUs the process may use.
std::vector<std::size_t> choose_cpus(const HostKernels& kernels);

}  // namespace ingot
