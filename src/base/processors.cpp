// Reads the topology of CPUs from /sys, and the CPU quotas of control groups.
#include "base/processors.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <set>

#include "base/control_group.h"
#include "base/text.h"

namespace ingot {

std::vector<std::size_t> one_cpu_per_core(std::span<const std::size_t> cpus,
                                          const std::string& root) {
  std::vector<std::size_t> chosen;
  std::set<std::string> cores;
  for (const std::size_t cpu : cpus) {
    const std::string core =
        read_small(cat(root, "/sys/devices/system/cpu/cpu", cpu, "/topology/thread_siblings_list"));
    if (core.empty() || cores.insert(core).second) chosen.push_back(cpu);
  }
  return chosen;
}

double control_group_cpus(const std::string& root) {
  double least = 0;
  for_control_groups(root, "cpu", [&](const ControlGroup& group) {
    std::string quota = read_small(group.folder + "/cpu.max");  // "quota period", or "max period"
    if (!group.version2) {
      quota = cat(read_small(group.folder + "/cpu.cfs_quota_us"), " ",
                  read_small(group.folder + "/cpu.cfs_period_us"));
      std::replace(quota.begin(), quota.end(), '\n', ' ');
    }
    std::string_view rest = quota;
    const auto time = leading_number(take_until(rest, ' '));
    const auto period = leading_number(rest);
    if (!time || !period || *time <= 0 || *period <= 0) return;
    const double cpus = static_cast<double>(*time) / static_cast<double>(*period);
    least = least == 0 ? cpus : std::min(least, cpus);
  });
  return least;
}

void interrupt_nobody() {
  sched_param priority{};
  int policy = 0;
  if (::pthread_getschedparam(::pthread_self(), &policy, &priority) != 0) return;
  if (policy == SCHED_OTHER) ::pthread_setschedparam(::pthread_self(), SCHED_BATCH, &priority);
}

}  // namespace ingot
