// Which CPUs are cores of their own, and how many a control group lets this process have.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace ingot {

/// Of CPUs that share a core the first one; all where the system does not say.
///
/// `root` comes before /sys, for tests.
std::vector<std::size_t> one_cpu_per_core(std::span<const std::size_t> cpus,
                                          const std::string& root = "");

/// CPUs' worth of time that this process's control groups and those above them give it: quota
/// through period, the least of all. 0 where nothing is limited or readable.
double control_group_cpus(const std::string& root = "");

/// From here on this thread takes a CPU from no other when it wakes up: it runs on an idle one,
/// when another waits or gives way, or at the system's next tick. Where others compute in steps it
/// then runs between those. Changes nothing for a thread whose policy somebody has chosen, or where
/// the system refuses.
void interrupt_nobody();

}  // namespace ingot
