// IncompleteBlob: writes a download to disk as its bytes arrive, and hashes them.
#include "hub/incomplete_blob.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "base/errno_text.h"
#include "base/error.h"
#include "base/index.h"
#include "base/text.h"

namespace ingot {

namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 20;

/// The digest of a file: SHA-256 for a large file; for a small file git's SHA-1, which begins with
/// the object's kind and size.
FileDigest digest_of(const HubFile& file) {
  constexpr std::size_t kSha256Digits = 64;
  if (file.blob.size() == kSha256Digits) return FileDigest(DigestKind::kSha256);
  FileDigest digest(DigestKind::kSha1);
  const std::string head = cat("blob ", file.bytes, '\0');
  digest.update(std::as_bytes(std::span(head)));
  return digest;
}

}  // namespace

IncompleteBlob::IncompleteBlob(std::string path, const HubFile& file, FunctionRef<void()> tick)
    : path_(std::move(path)), file_(file), digest_(digest_of(file)) {
  constexpr int kFlags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  fd_ = Fd(retry([&] { return ::open(path_.c_str(), kFlags, 0666); }));
  struct stat st {};
  if (!fd_ || ::fstat(fd_.get(), &st) != 0) fail(errno);
  if (!S_ISREG(st.st_mode)) fail(EINVAL);
  const auto size = static_cast<std::uint64_t>(st.st_size);
  size > file_.bytes ? restart() : digest_existing(tick);
}

void IncompleteBlob::digest_existing(FunctionRef<void()> tick) {
  std::vector<std::byte> buffer(kReadBytes);
  for (;;) {
    tick();
    const auto got = retry([&] { return ::read(fd_.get(), buffer.data(), buffer.size()); });
    if (got < 0) fail(errno);
    if (got == 0) return;
    const auto count = to_size(got);
    digest_.update(std::span(buffer).first(count));
    bytes_ += count;
  }
}

void IncompleteBlob::restart() {
  if (::ftruncate(fd_.get(), 0) != 0 || ::lseek(fd_.get(), 0, SEEK_SET) != 0) fail(errno);
  digest_ = digest_of(file_);
  bytes_ = 0;
}

void IncompleteBlob::begin(std::uint64_t offset) {
  // A server that does not support ranges sends the whole file.
  if (offset != bytes_) restart();
}

void IncompleteBlob::write(std::span<const std::byte> bytes) {
  if (bytes.size() > file_.bytes - bytes_) {
    discard();
    throw model_error(file_.path, "hub",
                      cat("the server sent more than the ", file_.bytes, " bytes it has"));
  }
  digest_.update(bytes);
  bytes_ += bytes.size();
  while (!bytes.empty()) {
    const auto done = retry([&] { return ::write(fd_.get(), bytes.data(), bytes.size()); });
    if (done < 0) fail(errno);
    bytes = bytes.subspan(to_size(done));
  }
}

void IncompleteBlob::commit(const std::string& target) {
  if (retry([&] { return ::fsync(fd_.get()); }) != 0) fail(errno);
  if (::rename(path_.c_str(), target.c_str()) != 0) fail(errno);
  fd_.reset();
}

void IncompleteBlob::discard() { ::unlink(path_.c_str()); }

void IncompleteBlob::fail(int error) {
  if (fd_) discard();
  throw Error(ErrorCode::kIo, cat(printable(path_, 4096), ": cannot write: ", errno_text(error)));
}

}  // namespace ingot
