// Recognises links of the hub's cache by their text and folder.
#include "base/blob_link.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/index.h"

#include <algorithm>
#include <array>

namespace ingot {

namespace {

constexpr std::string_view kUp = "../";
constexpr std::string_view kBlobs = "blobs/";
/// Largest number of folders between "snapshots" and a file: the commit's and the repository's.
constexpr int kLevelsMax = 16;

/// The text of a link; nothing for other files, or if the text is too long for a link of the cache.
std::optional<std::string> link_text(int folder, const std::string& name) {
  std::array<char, 256> text{};
  const auto size = ::readlinkat(folder, name.c_str(), text.data(), text.size());
  if (size <= 0 || to_size(size) == text.size()) return std::nullopt;
  return std::string(text.data(), to_size(size));
}

/// Whether the relative paths `a` and `b` lead to one folder; `b` must not end in a link.
bool is_same_folder(int folder, const std::string& a, const std::string& b) {
  struct stat x {};
  struct stat y {};
  return ::fstatat(folder, a.c_str(), &x, AT_SYMLINK_NOFOLLOW) == 0 &&
         ::fstatat(folder, b.c_str(), &y, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(x.st_mode) &&
         S_ISDIR(y.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

}  // namespace

bool is_blob_name(std::string_view name) {
  constexpr std::size_t kSha1 = 40;
  constexpr std::size_t kSha256 = 64;
  return (name.size() == kSha1 || name.size() == kSha256) &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::optional<BlobLink> read_blob_link(int folder, const std::string& name) {
  const auto text = link_text(folder, name);
  if (!text) return std::nullopt;
  std::string_view rest = *text;
  std::string up;
  int levels = 0;
  for (; rest.starts_with(kUp) && levels <= kLevelsMax; ++levels) {
    if (levels > 0) up += kUp;
    rest.remove_prefix(kUp.size());
  }
  if (levels < 2 || !rest.starts_with(kBlobs)) return std::nullopt;
  rest.remove_prefix(kBlobs.size());
  if (!is_blob_name(rest)) return std::nullopt;
  // `up` has a level less than the link, and must be the folder "snapshots" beside "blobs".
  if (!is_same_folder(folder, up + ".", up + "../snapshots")) return std::nullopt;
  Fd blobs(
      ::openat(folder, (up + "../blobs").c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!blobs) return std::nullopt;
  return BlobLink{std::move(blobs), std::string(rest)};
}

}  // namespace ingot
