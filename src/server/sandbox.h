// Sandbox: gives up system calls and files that a running server does not need.
#pragma once

#include <string>
#include <vector>

namespace ingot {

/// Restricts this process: no thread can start programs, connect, or open files for writing
/// (seccomp); threads that begin later, which read requests, open only files in /proc
/// (Landlock). `sockets` are paths of Unix sockets that are removed at the end.
///
/// Returns a line for each restriction that the kernel lacks. Errors: Error{kUnavailable} where it
/// has no seccomp filters.
std::vector<std::string> enter_sandbox(const std::vector<std::string>& sockets);

}  // namespace ingot
