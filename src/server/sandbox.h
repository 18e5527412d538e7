// Giving up what a server does not need once it runs.
#pragma once

#include <string>
#include <vector>

namespace ingot {

/// Takes from this process what an attacker would use: programs cannot be started, connections
/// cannot be made, files cannot be opened for writing (seccomp, all threads), and threads that
/// begin later, which read what others send, open no files but in /proc (Landlock). `sockets` are
/// paths of Unix sockets that are removed at the end.
///
/// Returns what the kernel does not have, a line each. Errors: Error{kUnavailable} where it has no
/// seccomp filters.
std::vector<std::string> enter_sandbox(const std::vector<std::string>& sockets);

}  // namespace ingot
