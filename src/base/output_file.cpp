// OutputFile: writes a temporary file beside the target, then renames it.
#include "base/output_file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <memory>
#include <optional>
#include <utility>

#include "base/errno_text.h"
#include "base/error.h"
#include "base/forced_exit.h"
#include "base/index.h"
#include "base/text.h"

namespace ingot {

namespace {

constexpr int kTemporaryNames = 1000;

/// The path of a temporary file, for signal handlers: no locks, and no memory that could be freed.
struct Unfinished {
  std::atomic<bool> taken{false};
  std::atomic<bool> there{false};
  std::array<char, PATH_MAX> path{};
};

// Commands write at most four files at once. The temporary file of a fifth would survive a signal.
constinit std::array<Unfinished, 4> unfinished;

/// The path with its symbolic links resolved; unchanged if it does not exist.
std::string resolved(const std::string& path) {
  const std::unique_ptr<char, decltype(&::free)> real(::realpath(path.c_str(), nullptr), ::free);
  return real ? std::string(real.get()) : path;
}

/// The folder of a path, for opening.
std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == path.npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

OutputFile::OutputFile(std::string path, const OutputFileOptions& options)
    : path_(std::move(path)), options_(options) {
  if (path_.empty() || path_.find('\0') != path_.npos) fail(ENOENT);
  struct stat st {};
  const bool exists = retry([&] { return ::stat(path_.c_str(), &st); }) == 0;
  if (!exists && errno != ENOENT) fail(errno);
  if (exists && S_ISDIR(st.st_mode)) fail(EISDIR);
  if (exists && !S_ISREG(st.st_mode)) {
    fd_ = Fd(retry([&] { return ::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY); }));
    if (!fd_) fail(errno);
    return;
  }
  // A file without permission to write is not replaced, though renaming would succeed.
  if (exists && ::access(path_.c_str(), W_OK) != 0) fail(errno);
  target_ = exists ? resolved(path_) : path_;
  open_temporary();
  if (exists) ::fchmod(fd_.get(), st.st_mode & 07777);
}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  forget_temporary();
}

void OutputFile::open_temporary() {
  for (int i = 0; i < kTemporaryNames; ++i) {
    temporary_ = cat(target_, ".tmp-", ::getpid(), "-", i);
    fd_ = Fd(retry([&] {
      return ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, options_.mode);
    }));
    if (fd_ && is_kept()) return remember_temporary();
    if (!fd_ && errno != EEXIST) break;
  }
  const int error = errno;
  temporary_.clear();
  fail(error);
}

/// Locks the temporary file if it has to be locked. Returns whether the file still has its name:
/// before it was locked, a process that deletes unlocked files may have deleted it.
bool OutputFile::is_kept() const {
  if (!options_.locked) return true;
  retry([&] { return ::flock(fd_.get(), LOCK_EX); });
  struct stat st {};
  return ::fstat(fd_.get(), &st) != 0 || st.st_nlink > 0;
}

void OutputFile::remember_temporary() {
  if (temporary_.size() >= PATH_MAX) return;
  add_forced_exit_action(remove_unfinished_outputs);
  for (std::size_t i = 0; i < unfinished.size(); ++i) {
    if (unfinished[i].taken.exchange(true)) continue;
    unfinished[i].path[temporary_.copy(unfinished[i].path.data(), PATH_MAX - 1)] = '\0';
    unfinished[i].there.store(true);
    slot_ = static_cast<int>(i);
    return;
  }
}

void OutputFile::forget_temporary() {
  if (slot_ < 0) return;
  Unfinished& slot = at(unfinished, std::exchange(slot_, -1));
  slot.there.store(false);
  slot.taken.store(false);
}

void OutputFile::write(std::span<const std::byte> bytes) {
  write(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

void OutputFile::write(std::string_view text) {
  while (!text.empty()) {
    const std::size_t count = std::min(text.size(), options_.piece_bytes - buffer_.size());
    buffer_ += text.substr(0, count);
    text.remove_prefix(count);
    if (buffer_.size() == options_.piece_bytes) flush();
  }
}

void OutputFile::flush() {
  std::string_view rest = buffer_;
  while (!rest.empty()) {
    const auto done = retry([&] { return ::write(fd_.get(), rest.data(), rest.size()); });
    if (done < 0) fail(errno);
    rest.remove_prefix(to_size(done));
  }
  buffer_.clear();
}

void OutputFile::commit() {
  flush();
  if (temporary_.empty()) {
    if (!fd_.reset()) fail(errno);
    return;
  }
  if (options_.synced && retry([&] { return ::fsync(fd_.get()); }) != 0) fail(errno);
  const Fd lock(options_.locked ? ::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0) : -1);
  if (options_.locked && !lock) fail(errno);
  if (!fd_.reset()) fail(errno);
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
  forget_temporary();
  temporary_.clear();
  if (!options_.synced) return;
  // Syncs the folder, so that the new name survives a crash. File systems that cannot sync a folder
  // ignore this.
  const Fd folder(retry(
      [&] { return ::open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (folder) ::fsync(folder.get());
}

void OutputFile::fail(int error) const {
  const std::string name = path_.empty() ? "(empty path)" : printable(path_, 4096);
  throw Error(ErrorCode::kIo, cat(name, ": cannot write: ", errno_text(error)));
}

void remove_unfinished_outputs() {
  for (const Unfinished& slot : unfinished) {
    if (slot.there.load()) ::unlink(slot.path.data());
  }
}

}  // namespace ingot
