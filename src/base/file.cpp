// Opens, identifies and reads files. Every system call is checked.
#include "base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/index.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "base/blob_link.h"
#include "base/errno_text.h"
#include "base/error.h"
#include "base/text.h"

namespace ingot {

namespace {

constexpr int kReadFlags = O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
/// Bytes that one pread reads at most (the limit of Linux is 2^31 - 4096).
constexpr std::size_t kReadBytesMax = std::size_t{1} << 30;

[[noreturn]] void fail(std::string_view name, std::string_view reason) {
  throw model_error(name.empty() ? "(empty path)" : name, "file", reason);
}

/// Why a file of this kind is refused, or null for a regular file.
const char* refusal(mode_t mode) {
  if (S_ISREG(mode)) return nullptr;
  return S_ISDIR(mode) ? "is a directory" : "is not a regular file";
}

/// Files of /proc claim to be regular and empty, but some (/proc/self/mem) are neither.
bool is_on_procfs(int fd) {
  constexpr decltype(std::declval<struct statfs>().f_type) kProcMagic = 0x9FA0;
  struct statfs fs {};
  return retry([&] { return ::fstatfs(fd, &fs); }) == 0 && fs.f_type == kProcMagic;
}

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

FileIdentity identity_of(const struct stat& st) {
  return {.device = st.st_dev,
          .inode = st.st_ino,
          .bytes = static_cast<std::uint64_t>(st.st_size),
          .links = st.st_nlink,
          .modified_ns = nanoseconds(st.st_mtim),
          .changed_ns = nanoseconds(st.st_ctim)};
}

/// Opens `name` if no part of its path leaves the folder. Returns -1 and sets errno on failure.
int open_beneath(int folder, const std::string& name, int flags) {
  open_how how{};
  how.flags = static_cast<unsigned>(flags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  const auto fd =
      retry([&] { return ::syscall(SYS_openat2, folder, name.c_str(), &how, sizeof how); });
  if (fd >= 0) return static_cast<int>(fd);
  // Kernels before 5.6 lack openat2, and some sandboxes deny it. Plain names without links are safe
  // there too.
  if (errno != ENOSYS && errno != EPERM) return -1;
  return retry([&] { return ::openat(folder, name.c_str(), flags | O_NOFOLLOW); });
}

/// Opens `name` beneath the folder, or the blob that a link of the hub's cache names if the blob is
/// not a link itself. Returns -1 and sets errno on failure.
int open_entry(int folder, const std::string& name, int flags) {
  const auto link = read_blob_link(folder, name);
  if (!link) return open_beneath(folder, name, flags);
  return retry([&] { return ::openat(link->blobs.get(), link->blob.c_str(), flags | O_NOFOLLOW); });
}

/// Opens without reading, to find the kind of file: opening a device for reading has side effects.
Fd peek_entry(int folder, const std::string& name) {
  return Fd(open_entry(folder, name, O_PATH | O_CLOEXEC));
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == name.npos &&
         name.find('\0') == name.npos;
}

struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

}  // namespace

bool has_same_bytes(const FileIdentity& before, const FileIdentity& after) {
  return before.device == after.device && before.inode == after.inode &&
         before.bytes == after.bytes && before.modified_ns == after.modified_ns;
}

bool is_same_state(const FileIdentity& before, const FileIdentity& after) {
  return has_same_bytes(before, after) &&
         (before.changed_ns == after.changed_ns || before.links != after.links);
}

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    reset();
    number_ = other.release();
  }
  return *this;
}

int Fd::release() { return std::exchange(number_, -1); }

bool Fd::reset() {
  // Linux frees the number even when close is interrupted, so there is nothing to retry.
  return number_ < 0 || ::close(release()) == 0 || errno == EINTR;
}

File::File(std::string path) : name_(std::move(path)) {
  if (name_.empty()) fail(name_, "the path is empty");
  if (name_.find('\0') != name_.npos) fail(name_, "the path has a NUL byte");
  struct stat st {};
  if (retry([&] { return ::stat(name_.c_str(), &st); }) != 0) fail(name_, errno_text(errno));
  if (const char* reason = refusal(st.st_mode)) fail(name_, reason);
  Fd fd(retry([&] { return ::open(name_.c_str(), kReadFlags); }));
  if (!fd) fail(name_, errno_text(errno));
  *this = File(std::move(name_), std::move(fd));
}

File::File(std::string name, Fd fd) : name_(std::move(name)), fd_(std::move(fd)) {
  struct stat st {};
  if (retry([&] { return ::fstat(fd_.get(), &st); }) != 0) fail(name_, errno_text(errno));
  if (const char* reason = refusal(st.st_mode)) fail(name_, reason);
  if (is_on_procfs(fd_.get())) fail(name_, "is not a regular file");
  identity_ = identity_of(st);
}

void File::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  if (offset > size() || out.size() > size() - offset) {
    fail(name_, cat("it has ", size(), " bytes, expected ", out.size(), " from ", offset));
  }
  std::size_t done = 0;
  while (done < out.size()) {
    const std::size_t count = std::min(out.size() - done, kReadBytesMax);
    const auto got = retry(
        [&] { return ::pread(fd(), out.data() + done, count, static_cast<off_t>(offset + done)); });
    if (got < 0) fail(name_, cat("cannot read: ", errno_text(errno)));
    if (got == 0) fail(name_, "it became shorter while it was being read");
    done += to_size(got);
  }
}

std::string File::read_all(std::uint64_t bytes_max) const {
  if (size() > bytes_max) {
    fail(name_, cat("it has ", size(), " bytes, at most ", bytes_max, " are allowed"));
  }
  std::string text(size(), '\0');
  read_at(0, std::as_writable_bytes(std::span(text)));
  if (!is_unchanged()) fail(name_, "it changed while it was being read");
  return text;
}

bool File::is_private() const {
  struct stat st {};
  return retry([&] { return ::fstat(fd(), &st); }) == 0 && st.st_uid == ::geteuid() &&
         (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool File::is_overwritten() const {
  struct stat st {};
  return retry([&] { return ::fstat(fd(), &st); }) == 0 &&
         !has_same_bytes(identity_, identity_of(st));
}

bool File::is_unchanged() const {
  struct stat st {};
  return retry([&] { return ::fstat(fd(), &st); }) == 0 &&
         is_same_state(identity_, identity_of(st));
}

Directory::Directory(std::string path) : name_(std::move(path)) {
  if (name_.empty()) fail(name_, "the path is empty");
  if (name_.find('\0') != name_.npos) fail(name_, "the path has a NUL byte");
  fd_ = Fd(retry([&] { return ::open(name_.c_str(), kReadFlags | O_DIRECTORY); }));
  if (!fd_) fail(name_, errno == ENOTDIR ? "is not a directory" : errno_text(errno));
}

File Directory::open(std::string_view name) const {
  if (!is_plain_name(name)) {
    fail(name_, cat("'", printable(name), "' is not a plain file name"));
  }
  const std::string file(name);
  const std::string full = cat(name_, name_.ends_with('/') ? "" : "/", name);
  const Fd seen = peek_entry(fd_.get(), file);
  struct stat st {};
  if (!seen || retry([&] { return ::fstat(seen.get(), &st); }) != 0) fail(full, errno_text(errno));
  if (S_ISLNK(st.st_mode)) fail(full, "symbolic links are not followed on this system");
  if (const char* reason = refusal(st.st_mode)) fail(full, reason);
  Fd fd(open_entry(fd_.get(), file, kReadFlags));
  if (!fd) fail(full, errno_text(errno));
  return File(full, std::move(fd));
}

bool Directory::contains(std::string_view name) const {
  if (!is_plain_name(name)) return false;
  const Fd seen = peek_entry(fd_.get(), std::string(name));
  struct stat st {};
  return seen && retry([&] { return ::fstat(seen.get(), &st); }) == 0 && S_ISREG(st.st_mode);
}

std::vector<std::string> Directory::list() const {
  // Needs a second descriptor, because listing moves the position of a descriptor.
  Fd own(retry([&] { return ::openat(fd_.get(), ".", kReadFlags | O_DIRECTORY); }));
  if (!own) fail(name_, errno_text(errno));
  const std::unique_ptr<DIR, CloseDir> dir(::fdopendir(own.get()));
  if (!dir) fail(name_, errno_text(errno));
  own.release();
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(dir.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  if (errno != 0) fail(name_, cat("cannot list: ", errno_text(errno)));
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace ingot
