// Finds the folders of shared test data. For tests only.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <vector>

namespace ingot {

/// Returns the path of the shared data's folder `name`, even if there is no such folder. The shared
/// data's path is the value of INGOT_SHARED, else of INGOT_DEFAULT_SHARED, else "../shared".
inline std::filesystem::path shared_folder(std::string_view name) {
  for (const char* variable : {"INGOT_SHARED", "INGOT_DEFAULT_SHARED"}) {
    const char* root = std::getenv(variable);
    if (root != nullptr && *root != '\0') return std::filesystem::path(root) / name;
  }
  return std::filesystem::path("../shared") / name;
}

/// Returns the sorted entries of a folder in the shared data; empty if the folder does not exist.
inline std::vector<std::filesystem::path> shared_entries(std::string_view name) {
  std::vector<std::filesystem::path> entries;
  const std::filesystem::path folder = shared_folder(name);
  if (!std::filesystem::is_directory(folder)) return entries;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    entries.push_back(entry.path());
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

}  // namespace ingot

/// Skips the test, with a message, if a folder of the shared data is missing.
#define INGOT_NEEDS_SHARED(name)                                                        \
  do {                                                                                  \
    if (!std::filesystem::is_directory(::ingot::shared_folder(name))) {                 \
      GTEST_SKIP() << "no shared data in " << ::ingot::shared_folder(name)              \
                   << ": set INGOT_SHARED to the folder that holds goldens/ and data/"; \
    }                                                                                   \
  } while (false)
