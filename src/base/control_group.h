// Control groups: what the system lets this process and its relatives have together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/function_ref.h"

namespace ingot {

/// A small file of the kernel's; empty when it cannot be read.
std::string read_small(const std::string& path);

/// The number that begins `text` after blanks.
std::optional<std::int64_t> leading_number(std::string_view text);

/// Cuts what comes before the next `end` off `text`.
std::string_view take_until(std::string_view& text, char end);

/// A control group that limits something for this process.
struct ControlGroup {
  std::string folder;
  bool version2 = false;
};

/// Calls fn(group) for this process's control group and each one above it: in the hierarchy of
/// version 2, and in version 1's of `controller`, where a system has either or both.
///
/// `root` comes before /proc and /sys, for tests.
void for_control_groups(const std::string& root, std::string_view controller,
                        FunctionRef<void(const ControlGroup& group)> fn);

}  // namespace ingot
