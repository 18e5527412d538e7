// Finds the cores of the system's CPUs and this process's CPU quota; sets a scheduling policy.
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

/// Returns the number of CPUs that this process may keep busy: the smallest quota / period of its
/// control groups and their parents. 0 if there is no limit or no limit can be read.
double control_group_cpus(const std::string& root = "");

/// Gives this thread the policy SCHED_BATCH: when it wakes up, it interrupts no other thread. It
/// starts when a CPU is idle, when the running thread waits or yields, or when the system's timer
/// ticks. So if other threads compute steps, this thread runs between the steps. Has no effect if
/// this thread's policy is not SCHED_OTHER, or if the system refuses.
void interrupt_nobody();

}  // namespace ingot
