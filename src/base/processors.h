// Cores behind the system's CPUs, and the CPU quota of this process's control groups.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace ingot {

/// The first of the CPUs that share a core, for each core; all of `cpus` where /sys does not say.
///
/// `root` is prepended to /sys, for tests.
std::vector<std::size_t> one_cpu_per_core(std::span<const std::size_t> cpus,
                                          const std::string& root = "");

/// CPUs that this process may keep busy: the least quota / period of its control groups and those
/// above them. 0 where nothing is limited or readable.
double control_group_cpus(const std::string& root = "");

/// Keeps this thread from interrupting others when it wakes up: it runs on an idle CPU, when
/// another thread waits or yields, or at the system's next timer interrupt. Beside threads that
/// compute in steps it runs between the steps. No effect on a thread with a scheduling policy of
/// its own, or where the system refuses.
void interrupt_nobody();

}  // namespace ingot
