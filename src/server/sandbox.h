// Sandbox: blocks system calls and files that a running server does not need.
#pragma once

#include <string>
#include <vector>

namespace ingot {

/// Restricts this process. No thread can start programs, connect sockets, or open files for writing
/// (seccomp). New threads, which read requests, can open only files in /proc and below `folder`,
/// unless it is empty (Landlock). `sockets`: paths of Unix sockets that the process may still
/// remove.
///
/// Returns a line for each restriction that the kernel lacks. Errors: Error{kUnavailable} if the
/// kernel has no seccomp filters.
std::vector<std::string> enter_sandbox(const std::vector<std::string>& sockets,
                                       const std::string& folder);

}  // namespace ingot
