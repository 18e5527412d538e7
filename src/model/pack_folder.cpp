// PackFolder: makes and checks the folder, and deletes the files that were not used for longest.
#include "model/pack_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <tuple>
#include <utility>
#include <vector>

#include "base/errno_text.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "model/pack_cache.h"

namespace ingot {

namespace {

namespace fs = std::filesystem;

/// In the name of an unfinished file (see OutputFile): "<digits>.ingot-pack.tmp-<process>-<n>".
constexpr std::string_view kUnfinished = ".ingot-pack.tmp-";
/// The end of the name of an empty file: this model was too large for the limit.
constexpr std::string_view kTooLarge = ".too-large";
/// Seconds after which a `kTooLarge` file is deleted, so that these files do not add up: 30 days.
constexpr std::int64_t kTooLargeSeconds = 30 * 24 * 3600;
/// The default folder's share of the disk's free space.
constexpr std::int64_t kFreeShare = 10;
constexpr std::string_view kForeign = "the folder belongs to another user";

[[noreturn]] void fail(const fs::path& path, std::string_view reason) {
  throw Error(ErrorCode::kIo, cat(printable(path.string(), 4096), ": ", reason));
}

std::int64_t nanoseconds(const timespec& time) {
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

/// An entry of the folder that the pack cache made.
struct Kept {
  std::string path;
  std::int64_t bytes = 0;
  std::int64_t used_ns = 0;  ///< access time, which `record_use` sets even if the system does not
  std::int64_t written_ns = 0;  ///< modification time
};

/// The regular files whose names `matches`.
template <class Matches>
std::vector<Kept> files_in(const std::string& folder, Matches matches) {
  std::vector<Kept> files;
  std::error_code error;
  fs::directory_iterator at(folder, error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    const std::string path = at->path().string();
    struct stat st {};
    if (!matches(at->path().filename().string()) || ::lstat(path.c_str(), &st) != 0) continue;
    if (!S_ISREG(st.st_mode)) continue;
    files.push_back({path, st.st_size, nanoseconds(st.st_atim), nanoseconds(st.st_mtim)});
  }
  return files;
}

std::vector<Kept> packed_files(const std::string& folder) {
  return files_in(folder, [](std::string_view name) { return name.ends_with(kPackedSuffix); });
}

std::vector<Kept> unfinished_files(const std::string& folder) {
  return files_in(folder,
                  [](std::string_view name) { return name.find(kUnfinished) != name.npos; });
}

std::int64_t bytes_of(const std::vector<Kept>& files) {
  std::int64_t bytes = 0;
  for (const Kept& file : files) bytes += file.bytes;
  return bytes;
}

/// Whether `path` is the name of this file.
bool is_at(const std::string& path, std::uint64_t device, std::uint64_t inode) {
  struct stat st {};
  return ::lstat(path.c_str(), &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

/// Deletes an unfinished file, unless its writer lives: a writer holds a lock on its file, and the
/// system ends the lock with the process.
void delete_if_unlocked(const std::string& path) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) return;
  // Meanwhile the name may have gone to a file of a new writer.
  struct stat st {};
  if (::fstat(file.get(), &st) == 0 && is_at(path, st.st_dev, st.st_ino)) ::unlink(path.c_str());
}

void delete_abandoned(const std::string& folder) {
  for (const Kept& file : unfinished_files(folder)) delete_if_unlocked(file.path);
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const auto is_mark = [](std::string_view name) { return name.ends_with(kTooLarge); };
  for (const Kept& file : files_in(folder, is_mark)) {
    if (nanoseconds(now) - file.written_ns > kTooLargeSeconds * 1'000'000'000) {
      ::unlink(file.path.c_str());
    }
  }
}

/// The nearest folder at or above `path` that exists.
fs::path existing(fs::path path) {
  struct stat st {};
  while (::stat(path.c_str(), &st) != 0 && path.has_relative_path()) path = path.parent_path();
  return path;
}

/// Bytes that this user may still write to the disk of `folder`.
std::int64_t free_bytes(const std::string& folder) {
  struct statvfs disk {};
  if (::statvfs(existing(folder).c_str(), &disk) != 0) return 0;
  return static_cast<std::int64_t>(disk.f_bavail * disk.f_frsize);
}

}  // namespace

std::string PackFolder::path(std::string_view key) const {
  return packed_path(options_.folder, key);
}

void PackFolder::expect_private() const {
  struct stat st {};
  if (!options_.is_default || ::stat(options_.folder.c_str(), &st) != 0) return;
  if (st.st_uid != ::geteuid()) fail(options_.folder, kForeign);
  if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    fail(options_.folder, "other users can write to this folder (chmod 700 makes it private)");
  }
}

std::optional<std::int64_t> PackFolder::limit() const {
  if (options_.bytes_max || !options_.is_default) return options_.bytes_max;
  // Counts the folder's own files as free, because they make room for each other.
  const std::int64_t space = free_bytes(options_.folder) + bytes_of(packed_files(options_.folder)) +
                             bytes_of(unfinished_files(options_.folder));
  return std::min(kPackBytesMax, space / kFreeShare);
}

void PackFolder::record_use(const std::string& path) const {
  const timespec times[] = {{.tv_sec = 0, .tv_nsec = UTIME_NOW},
                            {.tv_sec = 0, .tv_nsec = UTIME_OMIT}};
  ::utimensat(AT_FDCWD, path.c_str(), times, 0);  // fails for another user's file, which is fine
  evict({}, 0);
}

void PackFolder::make_room(const std::string& path, std::int64_t bytes) const {
  make();
  if (evict(path, bytes)) return;
  fail(options_.folder, "other processes are writing files there that fill its limit");
}

void PackFolder::remove(const std::string& path, const FileIdentity& file) const {
  if (is_at(path, file.device, file.inode)) ::unlink(path.c_str());
}

bool PackFolder::record_too_large(const std::string& path) const {
  try {
    make();
  } catch (const Error&) {
    return true;
  }
  const std::string mark = path + std::string(kTooLarge);
  const Fd file(::open(mark.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, file_mode()));
  return file || errno != EEXIST;
}

void PackFolder::make() const {
  const fs::path folder = options_.folder;
  const fs::path above = existing(folder);
  if (above == folder) return expect_private();
  struct stat st {};
  if (options_.is_default && ::stat(above.c_str(), &st) == 0 && st.st_uid != ::geteuid()) {
    // Under sudo, this may be the home of another user, who could not use a folder of root.
    fail(above, kForeign);
  }
  fs::path made = above;
  for (const fs::path& name : folder.lexically_relative(above)) {
    made /= name;
    if (::mkdir(made.c_str(), options_.is_default ? 0700 : 0777) != 0 && errno != EEXIST) {
      fail(made, cat("cannot make the folder: ", errno_text(errno)));
    }
  }
  expect_private();
}

/// Deletes abandoned files, then the least recently used ones until `bytes` more are within the
/// limit. Returns whether they are. The file `keep` counts as deleted, because a new file is about
/// to replace it.
bool PackFolder::evict(const std::string& keep, std::int64_t bytes) const {
  delete_abandoned(options_.folder);
  const std::optional<std::int64_t> most = limit();
  if (!most) return true;
  std::vector<Kept> files = packed_files(options_.folder);
  std::erase_if(files, [&](const Kept& file) { return file.path == keep; });
  std::sort(files.begin(), files.end(), [](const Kept& a, const Kept& b) {
    return std::tie(a.used_ns, a.path) < std::tie(b.used_ns, b.path);
  });
  std::int64_t all = bytes_of(files) + bytes_of(unfinished_files(options_.folder)) + bytes;
  for (const Kept& file : files) {
    if (all <= *most) return true;
    if (::unlink(file.path.c_str()) == 0 || errno == ENOENT) all -= file.bytes;
  }
  return all <= *most;
}

bool may_have_folder(const std::string& path) {
  const fs::path above = existing(path);
  struct stat st {};
  if (::stat(above.c_str(), &st) != 0 || !S_ISDIR(st.st_mode)) return false;
  return above == path || st.st_uid == ::geteuid();
}

}  // namespace ingot
