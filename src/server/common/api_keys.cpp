// ApiKeys: parses API keys, stores SHA-256 digests, and compares them in constant time.
#include "server/common/api_keys.h"

#include <fcntl.h>
#include <openssl/sha.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/errno_text.h"
#include "base/error.h"
#include "base/file.h"
#include "base/index.h"
#include "base/text.h"

namespace ingot {

namespace {

constexpr std::size_t kFileBytesMax = 256 << 10;

[[noreturn]] void refuse(const std::string& source, const std::string& why) {
  throw Error(ErrorCode::kInvalid, cat(source, ": ", why));
}

std::string_view without_end(std::string_view line) {
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\t')) {
    line.remove_suffix(1);
  }
  return line;
}

/// Whether `text` is visible ASCII, which a header field can carry.
bool is_visible(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

std::string read_all(int fd, const std::string& path) {
  std::string text(kFileBytesMax + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t count = ::read(fd, text.data() + size, text.size() - size);
    if (count < 0) refuse(path, cat("cannot be read: ", errno_text(errno)));
    if (count == 0) break;
    size += to_size(count);
  }
  if (size > kFileBytesMax) refuse(path, cat("has more than ", kFileBytesMax, " bytes"));
  text.resize(size);
  return text;
}

}  // namespace

ApiKeys::Digest ApiKeys::digest(std::string_view key) {
  Digest digest;
  SHA256(reinterpret_cast<const unsigned char*>(key.data()), key.size(), digest.data());
  return digest;
}

void ApiKeys::add(std::string_view text, const std::string& source) {
  const std::size_t before = keys_.size();
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = without_end(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    ++number;
    if (line.empty() || line.front() == '#') continue;
    const std::size_t colon = line.find(':');
    const std::string_view key = colon == std::string_view::npos ? line : line.substr(colon + 1);
    if (key.size() < kBytesMin || !is_visible(key)) {
      refuse(source, cat("the key in line ", number, " needs at least ", kBytesMin,
                         " visible characters of ASCII"));
    }
    if (keys_.size() == kKeysMax) refuse(source, cat("there are more than ", kKeysMax, " keys"));
    keys_.push_back({colon == std::string_view::npos ? cat("key-", keys_.size() + 1)
                                                     : printable(line.substr(0, colon), 64),
                     digest(key)});
  }
  if (keys_.size() == before) refuse(source, "holds no key");
}

std::optional<std::size_t> ApiKeys::find(std::string_view key) const {
  const Digest presented = digest(key);
  std::size_t found = 0;
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    unsigned difference = 0;
    for (std::size_t b = 0; b < presented.size(); ++b) {
      difference |= static_cast<unsigned>(presented[b] ^ keys_[i].digest[b]);
    }
    // 1 if nothing differs, computed without a branch.
    const std::size_t same = (difference - 1U) >> 31U;
    found = std::max(found, same * (i + 1));
  }
  if (found == 0) return std::nullopt;
  return found;
}

ApiKeys read_api_keys(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) refuse(path, cat("cannot be opened: ", errno_text(errno)));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    refuse(path, "is no regular file");
  }
  if ((status.st_mode & 077U) != 0) {
    refuse(path, "can be read by others than its owner: chmod 600 it");
  }
  return ApiKeys(read_all(file.get(), path), path);
}

}  // namespace ingot
