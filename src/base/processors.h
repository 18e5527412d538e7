// Finds the cores of the system's CPUs and this process's CPU quota; sets a thread's policy.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace ingot {

/// Returns one CPU of `cpus` for each physical core, and every CPU whose core is unknown.
///
/// `root` is prepended to /sys, for tests.
std::vector<std::size_t> one_cpu_per_core(std::span<const std::size_t> cpus,
                                          const std::string& root = "");

/// Number of CPUs that this process may keep busy: the smallest ratio of quota to period among its
/// control groups and their parents. 0 if there is no limit or it cannot be read.
double control_group_cpus(const std::string& root = "");

/// Keeps this thread from preempting other threads when it wakes up (policy SCHED_BATCH). This
/// thread then runs on an idle CPU, when another thread waits or yields, or at the next timer
/// interrupt. So if other threads compute steps, this thread runs between the steps. No effect if
/// this thread already has another policy, or if the system refuses.
void interrupt_nobody();

}  // namespace ingot
