// Finds control groups in /proc/self/cgroup and /sys/fs/cgroup.
#include "base/control_group.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/index.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace ingot {

namespace {

/// Whether `list`, such as "cpu,memory", contains the controller `name`.
bool has_controller(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    if (take_until(list, ',') == name) return true;
  }
  return false;
}

}  // namespace

std::string read_small(const std::string& path) {
  std::string text(16384, '\0');
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  const ssize_t n = read(fd, text.data(), text.size());
  close(fd);
  text.resize(n < 0 ? 0 : to_size(n));
  return text;
}

std::optional<std::int64_t> leading_number(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::int64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc() ? std::optional(value) : std::nullopt;
}

std::string_view take_until(std::string_view& text, char end) {
  const std::size_t at = std::min(text.find(end), text.size());
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return part;
}

void for_control_groups(const std::string& root, std::string_view controller,
                        FunctionRef<void(const ControlGroup&)> fn) {
  const std::string groups = read_small(root + "/proc/self/cgroup");
  for (std::string_view rest = groups; !rest.empty();) {
    std::string_view line = take_until(rest, '\n');
    const std::string_view number = take_until(line, ':');
    const std::string_view controllers = take_until(line, ':');
    const bool version2 = number == "0" && controllers.empty();
    if (!version2 && !has_controller(controllers, controller)) continue;
    const std::string hierarchy = cat(root, "/sys/fs/cgroup", version2 ? "" : "/",
                                      version2 ? std::string_view() : controller);
    for (std::string path(line);;) {
      fn({.folder = hierarchy + path, .version2 = version2});
      const std::size_t slash = path.rfind('/');
      if (slash == std::string::npos || path == "/") break;
      path.resize(slash == 0 ? 1 : slash);
    }
  }
}

}  // namespace ingot
