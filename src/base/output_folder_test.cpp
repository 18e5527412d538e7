// OutputFolder: complete under its name, or not there.
#include "base/output_folder.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "base/output_file.h"
#include "base/temp_folder_test_util.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;

void write(const OutputFolder& folder, std::string_view name) {
  OutputFile file(folder.file(name));
  file.write("text");
  file.commit();
}

std::ptrdiff_t entries(const std::string& folder) {
  return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
}

TEST(OutputFolder, AppearsWithAllItsFiles) {
  const TempFolder temp;
  OutputFolder folder(temp.path("out/"));
  write(folder, "a.json");
  write(folder, "1_Pooling/config.json");
  EXPECT_FALSE(fs::exists(temp.path("out")));
  folder.commit();
  EXPECT_TRUE(fs::exists(temp.path("out/a.json")));
  EXPECT_TRUE(fs::exists(temp.path("out/1_Pooling/config.json")));
  EXPECT_EQ(entries(temp.path()), 1);
}

TEST(OutputFolder, LeavesNothingWithoutACommit) {
  const TempFolder temp;
  {
    const OutputFolder folder(temp.path("out"));
    write(folder, "a.json");
  }
  EXPECT_EQ(entries(temp.path()), 0);
}

TEST(OutputFolder, RefusesWhatIsThere) {
  const TempFolder temp;
  const auto code_of = [](const std::string& path) {
    try {
      const OutputFolder folder(path);
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::kInternal;
  };
  temp.write("file", "text");
  fs::create_directory(temp.path("folder"));
  fs::create_symlink("nowhere", temp.path("link"));
  for (const char* name : {"file", "folder", "link"}) {
    EXPECT_EQ(code_of(temp.path(name)), ErrorCode::kInvalid) << name;
  }
  EXPECT_EQ(code_of(temp.path("no/folder")), ErrorCode::kIo);
  EXPECT_EQ(code_of(""), ErrorCode::kIo);
  EXPECT_EQ(entries(temp.path()), 3);
}

}  // namespace
}  // namespace ingot
