// choose_cpus: the default number of threads by cores, quotas and a measurement.
#include "runtime/thread_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/temp_folder_test_util.h"
#include "base/thread_pool.h"

namespace ingot {
namespace {

using Cpus = std::vector<std::size_t>;

/// Four CPUs on two cores, 0 with 1 and 2 with 3.
class TwoCores {
 public:
  TwoCores() {
    for (const auto& [cpu, list] : {std::pair{0, "0-1"}, {1, "0-1"}, {2, "2-3"}, {3, "2-3"}}) {
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
  /// The choice among `cpus` where more than one a core are `gain` times as fast.
  Cpus choice(const Cpus& cpus, double gain) {
    measured_.clear();
    const auto speed = [&](const Cpus& some) {
      measured_.push_back(some);
      return some.size() > 2 ? gain : 1.0;
    };
    return choose_cpus(cpus, speed, folder_.path());
  }
  const std::vector<Cpus>& measured() const { return measured_; }

 private:
  TempFolder folder_;
  std::vector<Cpus> measured_;
};

TEST(ChooseCpus, OneACoreUnlessMoreAreFaster) {
  TwoCores machine;
  EXPECT_EQ(machine.choice({0, 1, 2, 3}, 0.9), (Cpus{0, 2}));
  EXPECT_EQ(machine.measured(), (std::vector<Cpus>{{0, 2, 1, 3}, {0, 2}}));
  EXPECT_EQ(machine.choice({0, 1, 2, 3}, 1.04), (Cpus{0, 2}));
  EXPECT_EQ(machine.choice({0, 1, 2, 3}, 1.2), (Cpus{0, 2, 1, 3}));
}

TEST(ChooseCpus, NothingIsMeasuredWithoutAChoice) {
  TwoCores machine;
  EXPECT_EQ(machine.choice({0, 2}, 2), (Cpus{0, 2}));
  EXPECT_EQ(machine.choice({1, 2}, 2), (Cpus{1, 2}));
  EXPECT_EQ(machine.choice({3}, 2), Cpus{3});
  EXPECT_EQ(machine.choice({}, 2), Cpus{});
  EXPECT_TRUE(machine.measured().empty());
}

TEST(ChooseCpus, AQuotaIsNotExceeded) {
  TwoCores machine;
  machine.quota("150000 100000");
  EXPECT_EQ(machine.choice({0, 1, 2, 3}, 2), Cpus{0});
  machine.quota("50000 100000");
  EXPECT_EQ(machine.choice({0, 1, 2, 3}, 2), Cpus{0});
  machine.quota("300000 100000");
  EXPECT_EQ(machine.choice({0, 1, 2, 3}, 2), (Cpus{0, 2, 1}));
  machine.quota("800000 100000");
  EXPECT_EQ(machine.choice({0, 1, 2, 3}, 2), (Cpus{0, 2, 1, 3}));
  machine.quota("max 100000");
  EXPECT_EQ(machine.choice({0, 1, 2, 3}, 0.5), (Cpus{0, 2}));
}

TEST(ChooseCpus, OfThisMachineSomeOfItsOwn) {
  const Cpus allowed = allowed_cpus();
  for (const KernelTable* table : kernel_tables()) {
    const Cpus cpus = choose_cpus(*table);
    EXPECT_EQ(cpus.empty(), allowed.empty());
    for (const std::size_t cpu : cpus) {
      EXPECT_NE(std::find(allowed.begin(), allowed.end(), cpu), allowed.end()) << cpu;
    }
  }
}

}  // namespace
}  // namespace ingot
