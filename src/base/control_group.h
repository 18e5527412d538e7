// Finds the Linux control groups (cgroups) that limit this process's memory and CPU time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/function_ref.h"

namespace ingot {

/// Returns at most 16 KiB of a file in /proc or /sys; empty if the file cannot be read.
std::string read_small(const std::string& path);

/// Returns the number at the beginning of `text`, after blanks; nullopt if there is no number.
std::optional<std::int64_t> leading_number(std::string_view text);

/// Returns the characters of `text` before the first `end`. Removes them and `end` from `text`.
std::string_view take_until(std::string_view& text, char end);

/// A control group that contains this process.
struct ControlGroup {
  std::string folder;
  bool version2 = false;
};

/// Calls fn(group) for this process's control group, then for each of its parents. Covers cgroup
/// version 2's hierarchy and version 1's hierarchy of `controller`; a system has one or both.
///
/// `root` is prepended to /proc and /sys, for tests.
void for_control_groups(const std::string& root, std::string_view controller,
                        FunctionRef<void(const ControlGroup& group)> fn);

}  // namespace ingot
