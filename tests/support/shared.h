// The folder of shared test data, and why a test is skipped without it.
#pragma once

#include <filesystem>
#include <vector>

namespace ingot::testing_support {

/// The folder that INGOT_SHARED names, else the default that the build knows; empty when there is
/// none.
std::filesystem::path shared_folder();

/// The entries of a folder of shared data, sorted; empty when it does not exist.
std::vector<std::filesystem::path> shared_entries(const char* folder);

}  // namespace ingot::testing_support

/// Skips the test, saying so, when the shared data is not there.
#define INGOT_NEEDS_SHARED()                                                                \
  do {                                                                                      \
    if (ingot::testing_support::shared_folder().empty()) {                                  \
      GTEST_SKIP() << "no shared data: set INGOT_SHARED to the folder that holds goldens/"; \
    }                                                                                       \
  } while (false)
