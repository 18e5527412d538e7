// FileLock: a lock between processes on a file, compatible with huggingface_hub.
#pragma once

#include <optional>
#include <string>

#include "base/file.h"
#include "base/function_ref.h"

namespace ingot {

/// Holds an advisory lock (flock) on a file until destruction. Creates the file, never removes it.
class FileLock {
 public:
  /// Waits for the lock. Calls `waiting` repeatedly while another process holds the lock;
  /// `waiting` may throw to end the wait.
  ///
  /// Errors: Error{kIo} if the file cannot be created or locked.
  FileLock(const std::string& path, FunctionRef<void()> waiting);
  /// Takes the lock without waiting. Returns nothing if another process holds the lock.
  static std::optional<FileLock> try_lock(const std::string& path);

 private:
  explicit FileLock(Fd fd) : fd_(std::move(fd)) {}

  Fd fd_;
};

}  // namespace ingot
