// TestCache: a Hugging Face cache in a temporary folder. For tests only.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/temp_folder_test_util.h"
#include "hub/cache.h"

namespace ingot {

/// Makes a name for a commit or a blob: `c` repeated 40 times.
inline std::string digits(char c) { return std::string(40, c); }

/// A cache that a test fills with files.
struct TestCache {
  TempFolder folder;
  std::string root = folder.path("hub");

  RepoCache repo(const std::string& name) const { return {root, name}; }
  /// Writes `content` to blob digits(blob). Links `path` in snapshot digits(commit) to this blob.
  void add(const std::string& name, char commit, const std::string& path, char blob,
           std::string_view content = "0123456789") const {
    const RepoCache cache = repo(name);
    make_folders(cache.folder() + "/blobs");
    std::ofstream(cache.blob(digits(blob))) << content;
    cache.link(digits(commit), path, digits(blob));
  }
  /// Returns whether a file or a link exists at `path`, even if the link is broken.
  static bool is_there(const std::string& path) {
    return std::filesystem::exists(std::filesystem::symlink_status(path));
  }
};

}  // namespace ingot
