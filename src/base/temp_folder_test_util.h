// TempFolder: a temporary folder for one test. For tests only.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

namespace ingot {

/// Creates an empty folder; the destructor removes it with its contents.
class TempFolder {
 public:
  TempFolder() : path_((std::filesystem::temp_directory_path() / "ingot-test-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~TempFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }
  /// Returns the path of the entry `name` in the folder.
  std::string path(std::string_view name) const { return path_ + "/" + std::string(name); }
  /// Writes `text` to the file `name` in the folder, and returns the file's path.
  std::string write(std::string_view name, std::string_view text) const {
    std::string full = path(name);
    std::ofstream(full, std::ios::binary) << text;
    return full;
  }

 private:
  std::string path_;
};

}  // namespace ingot
