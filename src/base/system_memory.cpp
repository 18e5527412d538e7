// Available memory on Linux: /proc/meminfo, control groups (version 2), RLIMIT_AS.
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

/// The least that this process's control group and those above it leave. Page cache counts as used
/// there, so the part that the kernel would drop first is added back.
std::int64_t cgroup_bytes() {
  const std::string self = read_small("/proc/self/cgroup");
  const std::size_t at = self.find("0::");
  if (at == std::string::npos) return kUnlimited;
  std::string path = self.substr(at + 3, self.find('\n', at) - at - 3);
  std::int64_t least = kUnlimited;
  for (;;) {
    const std::string folder = cat("/sys/fs/cgroup", path);
    const auto limit = leading_number(read_small(folder + "/memory.max"));
    const auto used = leading_number(read_small(folder + "/memory.current"));
    if (limit && used) {
      const auto cache = number_after(read_small(folder + "/memory.stat"), "\ninactive_file ");
      least = std::min(least, *limit - *used + cache.value_or(0));
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

std::int64_t available_memory() {
  return std::max<std::int64_t>(0,
                                std::min({machine_bytes(), cgroup_bytes(), address_space_bytes()}));
}

}  // namespace ingot
