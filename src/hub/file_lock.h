// FileLock: a lock between processes, as the hub's own client takes it.
#pragma once

#include <optional>
#include <string>

#include "base/file.h"
#include "base/function_ref.h"

namespace ingot {

/// Holds an advisory lock (flock) on a file until destruction. The file is created, and stays.
class FileLock {
 public:
  /// Waits for the lock, calling `waiting` repeatedly while another process has it. `waiting` may
  /// throw to give up.
  ///
  /// Errors: Error{kIo} when the file cannot be created or locked.
  FileLock(const std::string& path, FunctionRef<void()> waiting);
  /// The lock, or nothing while another process has it.
  static std::optional<FileLock> try_lock(const std::string& path);

 private:
  explicit FileLock(Fd fd) : fd_(std::move(fd)) {}

  Fd fd_;
};

}  // namespace ingot
