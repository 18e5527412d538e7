// Tests of cores and quotas, read from files as the kernel writes them.
#include "base/processors.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/temp_folder_test_util.h"

namespace ingot {
namespace {

using Cpus = std::vector<std::size_t>;

/// A root folder with files of /proc and /sys.
class Root {
 public:
  void write(const std::string& path, const std::string& content) {
    const std::string relative = path.substr(1);
    std::filesystem::create_directories(
        std::filesystem::path(folder_.path(relative)).parent_path());
    folder_.write(relative, content);
  }
  void siblings(int cpu, const std::string& list) {
    write("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list",
          list + "\n");
  }
  std::string path() const { return folder_.path(); }

 private:
  TempFolder folder_;
};

TEST(OneCpuPerCore, TakesTheFirstOfEachCoreThatMayBeUsed) {
  Root root;
  root.siblings(0, "0,4");
  root.siblings(4, "0,4");
  root.siblings(1, "1,5");
  root.siblings(5, "1,5");
  root.siblings(2, "2");
  EXPECT_EQ(one_cpu_per_core(Cpus{0, 1, 2, 4, 5}, root.path()), (Cpus{0, 1, 2}));
  EXPECT_EQ(one_cpu_per_core(Cpus{1, 4, 5}, root.path()), (Cpus{1, 4}));
  EXPECT_EQ(one_cpu_per_core(Cpus{4}, root.path()), Cpus{4});
}

TEST(OneCpuPerCore, TakesAllWhereTheSystemDoesNotSay) {
  EXPECT_EQ(one_cpu_per_core(Cpus{0, 1, 7}, "/no/such/root"), (Cpus{0, 1, 7}));
  EXPECT_EQ(one_cpu_per_core(Cpus{}, "/no/such/root"), Cpus{});
}

TEST(ControlGroupCpus, IsTheLeastQuotaOnTheWayUp) {
  Root root;
  EXPECT_EQ(control_group_cpus(root.path()), 0);
  root.write("/proc/self/cgroup", "0::/a/b\n");
  EXPECT_EQ(control_group_cpus(root.path()), 0);
  root.write("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(control_group_cpus(root.path()), 0);
  root.write("/sys/fs/cgroup/a/cpu.max", "250000 100000\n");
  EXPECT_EQ(control_group_cpus(root.path()), 2.5);
  root.write("/sys/fs/cgroup/a/b/cpu.max", "400000 100000\n");
  EXPECT_EQ(control_group_cpus(root.path()), 2.5);
  root.write("/sys/fs/cgroup/a/b/cpu.max", "50000 100000\n");
  EXPECT_EQ(control_group_cpus(root.path()), 0.5);
}

TEST(ControlGroupCpus, ReadsVersion1) {
  Root root;
  root.write("/proc/self/cgroup", "4:memory:/m\n3:cpu,cpuacct:/c\n");
  root.write("/sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "-1\n");
  root.write("/sys/fs/cgroup/cpu/c/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(control_group_cpus(root.path()), 0);
  root.write("/sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "300000\n");
  EXPECT_EQ(control_group_cpus(root.path()), 3);
}

TEST(ControlGroupCpus, NoFileIsBelievedThatMakesNoSense) {
  Root root;
  root.write("/proc/self/cgroup", "0::/\n");
  for (const char* quota : {"", "x", "1", "1 0", "0 100000", "-5 100000", "1000 -1"}) {
    root.write("/sys/fs/cgroup/cpu.max", quota);
    EXPECT_EQ(control_group_cpus(root.path()), 0) << quota;
  }
}

}  // namespace
}  // namespace ingot
