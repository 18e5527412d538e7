// Finds the Linux control groups (cgroups) that limit this process's memory and CPU time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/function_ref.h"

namespace ingot {

/// The text of a small file in /proc or /sys; empty if it cannot be read.
std::string read_small(const std::string& path);

/// The number at the beginning of `text`, after blanks; nothing if there is no number.
std::optional<std::int64_t> leading_number(std::string_view text);

/// Removes the front of `text`, up to and including the first `end`. Returns it without this `end`.
std::string_view take_until(std::string_view& text, char end);

/// A control group that contains this process.
struct ControlGroup {
  std::string folder;
  bool version2 = false;
};

/// Calls fn(group) for this process's control group and all its parents, in the hierarchy of cgroup
/// version 2 and in that of `controller` in version 1. A system has one hierarchy or both.
///
/// `root` is prepended to /proc and /sys, for tests.
void for_control_groups(const std::string& root, std::string_view controller,
                        FunctionRef<void(const ControlGroup& group)> fn);

}  // namespace ingot
