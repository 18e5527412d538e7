// OutputFolder: fills a temporary folder beside the target, then renames it.
#include "base/output_folder.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/errno_text.h"
#include "base/error.h"
#include "base/forced_exit.h"
#include "base/output_file.h"
#include "base/text.h"

namespace ingot {

namespace fs = std::filesystem;

namespace {

/// Bytes of the paths of one folder, which has some tens of files. Later files than fit would
/// survive a forced exit.
constexpr std::size_t kPathBytes = 1 << 16;

/// The paths of an unfinished folder, for signal handlers: no locks, and no memory that could be
/// freed. Each path ends in a NUL; the folder's own is the first.
struct UnfinishedFolder {
  std::atomic<bool> taken{false};
  std::atomic<std::size_t> bytes{0};
  std::array<char, kPathBytes> paths{};

  void add(const std::string& path) {
    const std::size_t begin = bytes.load();
    if (begin + path.size() + 1 > kPathBytes) return;
    paths[begin + path.copy(&paths[begin], path.size())] = '\0';
    bytes.store(begin + path.size() + 1);
  }
};

constinit UnfinishedFolder unfinished_folder;

/// Removes the files, then the folders inside the folder, then the folder.
void remove_unfinished_folder() {
  remove_unfinished_outputs();
  const std::size_t end = unfinished_folder.bytes.load();
  const char* const first = unfinished_folder.paths.data();
  for (const char* path = first; path < first + end; path += std::strlen(path) + 1) {
    if (::unlink(path) != 0) ::rmdir(path);
  }
  if (end > 0) ::rmdir(first);
}

}  // namespace

OutputFolder::OutputFolder(std::string path) : path_(std::move(path)) {
  while (path_.size() > 1 && path_.ends_with('/')) path_.pop_back();
  if (path_.empty() || path_.find('\0') != std::string::npos) fail(ENOENT);
  std::error_code error;
  const fs::file_type type = fs::symlink_status(path_, error).type();
  if (type == fs::file_type::none) fail(error.value());
  if (type != fs::file_type::not_found) {
    throw Error(ErrorCode::kInvalid,
                cat(printable(path_), ": it exists already: name a folder that does not exist"));
  }
  const std::string temporary = cat(path_, ".tmp-", ::getpid());
  if (!fs::create_directory(temporary, error)) fail(error ? error.value() : EEXIST);
  temporary_ = temporary;
  if (unfinished_folder.taken.exchange(true)) return;
  is_remembered_ = true;
  unfinished_folder.add(temporary_);
  add_forced_exit_action(remove_unfinished_folder);
}

OutputFolder::~OutputFolder() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
  forget();
}

void OutputFolder::forget() {
  if (!is_remembered_) return;
  is_remembered_ = false;
  unfinished_folder.bytes.store(0);
  unfinished_folder.taken.store(false);
}

std::string OutputFolder::file(std::string_view name) const {
  std::string path = cat(temporary_, "/", name);
  const std::string parent = fs::path(path).parent_path().string();
  std::error_code error;
  fs::create_directories(parent, error);
  if (error) fail(error.value());
  if (!is_remembered_) return path;
  unfinished_folder.add(path);
  if (parent != temporary_) unfinished_folder.add(parent);
  return path;
}

void OutputFolder::commit() {
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail(errno);
  temporary_.clear();
  forget();
}

void OutputFolder::fail(int error) const {
  throw Error(ErrorCode::kIo, cat(printable(path_), ": cannot write: ", errno_text(error)));
}

}  // namespace ingot
