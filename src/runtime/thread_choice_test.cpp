// The number of threads where nobody says: cores, quotas, and what is measured.
#include "runtime/thread_choice.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/temp_folder.h"
#include "base/thread_pool.h"

namespace ingot {
namespace {

using Cpus = std::vector<std::size_t>;

/// Four CPUs on two cores, 0 with 2 and 1 with 3.
class TwoCores {
 public:
  TwoCores() {
    for (const auto& [cpu, list] : {std::pair{0, "0,2"}, {2, "0,2"}, {1, "1,3"}, {3, "1,3"}}) {
      write("sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list",
            list);
    }
  }
  void write(const std::string& path, const std::string& content) {
    std::filesystem::create_directories(std::filesystem::path(folder_.path(path)).parent_path());
    folder_.write(path, content);
  }
  void quota(const std::string& cpu_max) {
    write("proc/self/cgroup", "0::/\n");
    write("sys/fs/cgroup/cpu.max", cpu_max);
  }
  /// The choice among `cpus` where all are `gain` times as fast as one a core.
  int choice(const Cpus& cpus, double gain) {
    measured_.clear();
    const auto speed = [&](const Cpus& some) {
      measured_.push_back(some);
      return some == cpus ? gain : 1.0;
    };
    return choose_threads(cpus, speed, folder_.path());
  }
  const std::vector<Cpus>& measured() const { return measured_; }

 private:
  TempFolder folder_;
  std::vector<Cpus> measured_;
};

TEST(ChooseThreads, OneACoreUnlessMoreAreFaster) {
  TwoCores machine;
  EXPECT_EQ(machine.choice({0, 1, 2, 3}, 0.9), 2);
  EXPECT_EQ(machine.measured(), (std::vector<Cpus>{{0, 1, 2, 3}, {0, 1}}));
  EXPECT_EQ(machine.choice({0, 1, 2, 3}, 1.04), 2);
  EXPECT_EQ(machine.choice({0, 1, 2, 3}, 1.2), 4);
}

TEST(ChooseThreads, NothingIsMeasuredWithoutAChoice) {
  TwoCores machine;
  EXPECT_EQ(machine.choice({0, 1}, 2), 2);
  EXPECT_EQ(machine.choice({0, 3}, 2), 2);
  EXPECT_EQ(machine.choice({2}, 2), 1);
  EXPECT_EQ(machine.choice({}, 2), 1);
  EXPECT_TRUE(machine.measured().empty());
}

TEST(ChooseThreads, AQuotaIsNotExceeded) {
  TwoCores machine;
  machine.quota("150000 100000");
  EXPECT_EQ(machine.choice({0, 1, 2, 3}, 2), 1);
  machine.quota("50000 100000");
  EXPECT_EQ(machine.choice({0, 1, 2, 3}, 2), 1);
  machine.quota("800000 100000");
  EXPECT_EQ(machine.choice({0, 1, 2, 3}, 2), 4);
  machine.quota("max 100000");
  EXPECT_EQ(machine.choice({0, 1, 2, 3}, 0.5), 2);
}

TEST(ChooseThreads, OfThisMachineNoMoreThanItsCpus) {
  for (const KernelTable* table : kernel_tables()) {
    const int threads = choose_threads(*table);
    EXPECT_GE(threads, 1);
    EXPECT_LE(threads, available_cpus());
  }
}

}  // namespace
}  // namespace ingot
