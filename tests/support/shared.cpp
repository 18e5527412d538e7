// Finding the shared data.
#include "support/shared.h"

#include <algorithm>
#include <cstdlib>

namespace ingot::testing_support {

namespace fs = std::filesystem;

fs::path shared_folder() {
  for (const char* name : {"INGOT_SHARED", "INGOT_DEFAULT_SHARED"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && fs::is_directory(fs::path(value) / "goldens")) return value;
  }
  return {};
}

std::vector<fs::path> shared_entries(const char* folder) {
  std::vector<fs::path> entries;
  const fs::path path = shared_folder() / folder;
  if (!fs::is_directory(path)) return entries;
  for (const auto& entry : fs::directory_iterator(path)) entries.push_back(entry.path());
  std::sort(entries.begin(), entries.end());
  return entries;
}

}  // namespace ingot::testing_support
