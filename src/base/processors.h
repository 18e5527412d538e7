// Finds the cores of the system's CPUs and this process's CPU quota; sets a thread's policy.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace ingot {

/// Keeps one CPU of `cpus` for each physical core. Keeps a CPU if /sys does not tell its core.
///
/// `root` is prepended to /sys, for tests.
std::vector<std::size_t> one_cpu_per_core(std::span<const std::size_t> cpus,
                                          const std::string& root = "");

/// Number of CPUs that this process may keep busy: the smallest quota / period of all its control
/// groups and their parents. 0 if there is no limit or it cannot be read.
double control_group_cpus(const std::string& root = "");

/// Makes this thread not preempt other threads when it wakes up (policy SCHED_BATCH). It runs on an
/// idle CPU, or when another thread waits or yields, or at the next timer interrupt; so beside
/// threads that compute steps it runs between steps. No effect if the thread already has another
/// policy, or if the system refuses.
void interrupt_nobody();

}  // namespace ingot
