// Available memory on Linux: /proc/meminfo, control groups (version 1 and 2), RLIMIT_AS.
#include "base/system_memory.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/text.h"

namespace ingot {

namespace {

constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

/// A small file of the kernel's; empty when it cannot be read.
std::string read_small(const std::string& path) {
  std::string text(16384, '\0');
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  const ssize_t n = read(fd, text.data(), text.size());
  close(fd);
  text.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
  return text;
}

/// The number that begins `text` after blanks.
std::optional<std::int64_t> leading_number(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::int64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc() ? std::optional(value) : std::nullopt;
}

std::optional<std::int64_t> number_after(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  return at == std::string_view::npos ? std::nullopt : leading_number(text.substr(at + key.size()));
}

std::int64_t machine_bytes() {
  const auto kib = number_after(read_small("/proc/meminfo"), "MemAvailable:");
  return kib ? *kib * 1024 : kUnlimited;
}

/// Where a hierarchy of control groups is mounted, and how it names what counts here.
struct Hierarchy {
  std::string_view folder;
  std::string_view limit;
  std::string_view used;
  std::string_view cache;  ///< in memory.stat: the page cache that the kernel would drop first
};

constexpr Hierarchy kVersion1{.folder = "/sys/fs/cgroup/memory",
                              .limit = "/memory.limit_in_bytes",
                              .used = "/memory.usage_in_bytes",
                              .cache = "\ntotal_inactive_file "};
constexpr Hierarchy kVersion2{.folder = "/sys/fs/cgroup",
                              .limit = "/memory.max",
                              .used = "/memory.current",
                              .cache = "\ninactive_file "};

/// Cuts what comes before the next `end` off `text`.
std::string_view take_until(std::string_view& text, char end) {
  const std::size_t at = std::min(text.find(end), text.size());
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return part;
}

/// Whether "cpu,memory" has a controller.
bool has_controller(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    if (take_until(list, ',') == name) return true;
  }
  return false;
}

/// The least that a control group and those above it leave. Page cache counts as used there, so the
/// part that goes first is added back.
std::int64_t group_bytes(const std::string& root, const Hierarchy& hierarchy, std::string path) {
  std::int64_t least = kUnlimited;
  for (;;) {
    const std::string folder = cat(root, hierarchy.folder, path);
    const auto limit = leading_number(read_small(cat(folder, hierarchy.limit)));
    const auto used = leading_number(read_small(cat(folder, hierarchy.used)));
    if (limit && used) {
      const auto cache = number_after(read_small(folder + "/memory.stat"), hierarchy.cache);
      least = std::min(least, *limit - std::max<std::int64_t>(0, *used - cache.value_or(0)));
    }
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos || path == "/") return least;
    path.resize(slash == 0 ? 1 : slash);
  }
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
  const std::string groups = read_small(root + "/proc/self/cgroup");
  std::int64_t least = kUnlimited;
  for (std::string_view rest = groups; !rest.empty();) {
    std::string_view line = take_until(rest, '\n');
    const std::string_view number = take_until(line, ':');
    const std::string_view controllers = take_until(line, ':');
    const bool version2 = number == "0" && controllers.empty();
    if (!version2 && !has_controller(controllers, "memory")) continue;
    const Hierarchy& hierarchy = version2 ? kVersion2 : kVersion1;
    least = std::min(least, group_bytes(root, hierarchy, std::string(line)));
  }
  return std::max<std::int64_t>(0, least);
}

std::int64_t available_memory() {
  return std::max<std::int64_t>(
      0, std::min({machine_bytes(), control_group_memory(), address_space_bytes()}));
}

}  // namespace ingot
