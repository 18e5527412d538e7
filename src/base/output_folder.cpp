// OutputFolder: fills a temporary folder beside the target, then renames it.
#include "base/output_folder.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/errno_text.h"
#include "base/error.h"
#include "base/text.h"

namespace ingot {

namespace fs = std::filesystem;

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
}

OutputFolder::~OutputFolder() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
}

std::string OutputFolder::file(std::string_view name) const {
  std::string path = cat(temporary_, "/", name);
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  if (error) fail(error.value());
  return path;
}

void OutputFolder::commit() {
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail(errno);
  temporary_.clear();
}

void OutputFolder::fail(int error) const {
  throw Error(ErrorCode::kIo, cat(printable(path_), ": cannot write: ", errno_text(error)));
}

}  // namespace ingot
