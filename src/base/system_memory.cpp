// Available memory on Linux: /proc/meminfo, control groups (version 1 and 2), RLIMIT_AS.
#include "base/system_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/control_group.h"
#include "base/text.h"

namespace ingot {

namespace {

constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

std::optional<std::int64_t> number_after(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  return at == std::string_view::npos ? std::nullopt : leading_number(text.substr(at + key.size()));
}

std::int64_t machine_bytes() {
  const auto kib = number_after(read_small("/proc/meminfo"), "MemAvailable:");
  return kib ? *kib * 1024 : kUnlimited;
}

/// Bytes that a control group's limit leaves. A control group counts the page cache as used. So the
/// inactive part, which the system drops first, is added to the result.
std::int64_t group_bytes(const ControlGroup& group) {
  const auto number = [&](std::string_view version1, std::string_view version2) {
    return leading_number(read_small(cat(group.folder, group.version2 ? version2 : version1)));
  };
  const auto limit = number("/memory.limit_in_bytes", "/memory.max");
  const auto used = number("/memory.usage_in_bytes", "/memory.current");
  if (!limit || !used) return kUnlimited;
  const auto cache = number_after(read_small(group.folder + "/memory.stat"),
                                  group.version2 ? "\ninactive_file " : "\ntotal_inactive_file ");
  return *limit - std::max<std::int64_t>(0, *used - cache.value_or(0));
}

std::int64_t address_space_bytes() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kUnlimited;
  const auto pages = leading_number(read_small("/proc/self/statm"));
  const std::int64_t used = pages.value_or(0) * sysconf(_SC_PAGESIZE);
  return static_cast<std::int64_t>(std::min<rlim_t>(limit.rlim_cur, kUnlimited)) - used;
}

}  // namespace

std::int64_t control_group_memory(const std::string& root) {
  std::int64_t least = kUnlimited;
  for_control_groups(root, "memory", [&](const ControlGroup& group) {
    least = std::min(least, group_bytes(group));
  });
  return std::max<std::int64_t>(0, least);
}

std::int64_t available_memory() {
  return std::max<std::int64_t>(
      0, std::min({machine_bytes(), control_group_memory(), address_space_bytes()}));
}

std::int64_t resident_memory() {
  const std::string text = read_small("/proc/self/statm");
  const std::size_t size_end = std::min(text.find(' '), text.size());
  const auto pages = leading_number(std::string_view(text).substr(size_end));
  return pages ? *pages * sysconf(_SC_PAGESIZE) : 0;
}

}  // namespace ingot
