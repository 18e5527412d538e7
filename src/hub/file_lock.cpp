// FileLock: repeats flock without blocking, so that `waiting` can end the wait.
#include "hub/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "base/errno_text.h"
#include "base/error.h"
#include "base/text.h"

namespace ingot {

namespace {

constexpr std::chrono::milliseconds kPause{50};

[[noreturn]] void fail(const std::string& path) {
  throw Error(ErrorCode::kIo, cat(printable(path, 4096), ": cannot lock: ", errno_text(errno)));
}

Fd open_lock(const std::string& path) {
  for (;;) {
    Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (fd) return fd;
    if (errno != EINTR) fail(path);
  }
}

/// Takes the lock if it is free. Returns whether it was free.
bool take(const Fd& fd, const std::string& path) {
  while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return false;
    if (errno != EINTR) fail(path);
  }
  return true;
}

}  // namespace

FileLock::FileLock(const std::string& path, FunctionRef<void()> waiting) : fd_(open_lock(path)) {
  while (!take(fd_, path)) {
    waiting();
    std::this_thread::sleep_for(kPause);
  }
}

std::optional<FileLock> FileLock::try_lock(const std::string& path) {
  Fd fd = open_lock(path);
  if (!take(fd, path)) return std::nullopt;
  return FileLock(std::move(fd));
}

}  // namespace ingot
