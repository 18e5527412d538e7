// Tests of control groups' memory limits, read from files as the kernel writes them.
#include "base/system_memory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <string>

#include "base/temp_folder_test_util.h"

namespace ingot {
namespace {

constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

/// A root folder with a /proc/self/cgroup and files of control groups.
class MemoryRoot {
 public:
  explicit MemoryRoot(const std::string& cgroup) { write("/proc/self/cgroup", cgroup); }

  void write(const std::string& path, const std::string& content) {
    const std::string relative = path.substr(1);
    std::filesystem::create_directories(
        std::filesystem::path(folder_.path(relative)).parent_path());
    folder_.write(relative, content);
  }
  /// A group of version 2.
  void group(const std::string& path, const std::string& max, int current, int inactive) {
    const std::string base = "/sys/fs/cgroup" + path;
    write(base + "/memory.max", max + "\n");
    write(base + "/memory.current", std::to_string(current) + "\n");
    write(base + "/memory.stat", "anon 5\ninactive_file " + std::to_string(inactive) + "\n");
  }
  /// A group of version 1.
  void group1(const std::string& path, const std::string& limit, int usage, int inactive) {
    const std::string base = "/sys/fs/cgroup/memory" + path;
    write(base + "/memory.limit_in_bytes", limit + "\n");
    write(base + "/memory.usage_in_bytes", std::to_string(usage) + "\n");
    write(base + "/memory.stat",
          "cache 7\ninactive_file 1\ntotal_inactive_file " + std::to_string(inactive) + "\n");
  }
  std::int64_t left() const { return control_group_memory(folder_.path()); }

 private:
  TempFolder folder_;
};

TEST(ControlGroupMemory, IsUnlimitedWhereNothingSaysOtherwise) {
  EXPECT_EQ(control_group_memory("/no/such/root"), kUnlimited);
  EXPECT_EQ(MemoryRoot("").left(), kUnlimited);
  EXPECT_EQ(MemoryRoot("0::/\n").left(), kUnlimited);
  EXPECT_EQ(MemoryRoot("garbage\n:::\n12\n").left(), kUnlimited);
}

TEST(ControlGroupMemory, Version2TakesTheLeastOnTheWayUp) {
  MemoryRoot root("0::/a/b\n");
  root.group("/a/b", "1000", 300, 100);
  EXPECT_EQ(root.left(), 800);
  root.group("/a", "900", 400, 0);
  EXPECT_EQ(root.left(), 500);
  root.group("/a/b", "max", 300, 100);
  EXPECT_EQ(root.left(), 500);
  root.group("/a", "300", 400, 0);
  EXPECT_EQ(root.left(), 0) << "more is used than allowed";
}

TEST(ControlGroupMemory, Version1IsRead) {
  MemoryRoot root("5:cpu,cpuacct:/other\n4:memory:/docker/1\n1:name=systemd:/x\n");
  root.group1("/docker/1", "1000", 300, 100);
  EXPECT_EQ(root.left(), 800);
  root.group1("", "700", 300, 0);
  EXPECT_EQ(root.left(), 400);
}

TEST(ControlGroupMemory, AGroupOfTheHostCountsByWhatIsMountedInAContainer) {
  MemoryRoot root("4:memory:/docker/of/the/host\n");
  root.group1("", "700", 300, 100);
  EXPECT_EQ(root.left(), 500);
}

TEST(ControlGroupMemory, Version1WithoutALimitOverflowsNothing) {
  MemoryRoot root("4:memory:/\n");
  root.group1("", "9223372036854771712", 300, 1 << 20);
  EXPECT_EQ(root.left(), 9223372036854771712);
}

TEST(ControlGroupMemory, SideBySideBothCount) {
  MemoryRoot root("4:freezer,memory:/v1\n0::/v2\n");
  root.group1("/v1", "1000", 300, 100);
  EXPECT_EQ(root.left(), 800);
  root.group("/v2", "600", 100, 0);
  EXPECT_EQ(root.left(), 500);
}

}  // namespace
}  // namespace ingot
