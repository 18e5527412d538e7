// Control groups of Linux: the limits on memory and CPU time of this process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/function_ref.h"

namespace ingot {

/// The text of a small file in /proc or /sys; empty when it cannot be read.
std::string read_small(const std::string& path);

/// The number at the beginning of `text`, after blanks; nothing where there is no number.
std::optional<std::int64_t> leading_number(std::string_view text);

/// Removes the text before the next `end` from `text`, with `end`, and returns it.
std::string_view take_until(std::string_view& text, char end);

/// A control group above this process.
struct ControlGroup {
  std::string folder;
  bool version2 = false;
};

/// Calls fn(group) for this process's control group and each one above it, in the hierarchy of
/// version 2 and in that of `controller` in version 1; a system has one or both.
///
/// `root` is prepended to /proc and /sys, for tests.
void for_control_groups(const std::string& root, std::string_view controller,
                        FunctionRef<void(const ControlGroup& group)> fn);

}  // namespace ingot
