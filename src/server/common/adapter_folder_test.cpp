// Tests of the folder of adapters: what is a name in it, and what messages say.
#include "server/common/adapter_folder.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;

class AdapterFolderTest : public testing::Test {
 protected:
  AdapterFolderTest() {
    std::string path = testing::TempDir() + "ingot-adapters-XXXXXX";
    root_ = mkdtemp(path.data());
    fs::create_directories(root_ / "loras/empty");
    fs::create_directories(root_ / "loras/.hidden");
    for (const char* name : {"a,b", "none", "a\nb", "\xff"}) {
      fs::create_directories(root_ / "loras" / name);
    }
    fs::create_directories(root_ / "outside");
    fs::create_symlink(root_ / "outside", root_ / "loras/out");
    fs::create_symlink("empty", root_ / "loras/in");
    std::ofstream(root_ / "loras/file") << "x";
  }
  ~AdapterFolderTest() override { fs::remove_all(root_); }

  fs::path root_;
};

TEST_F(AdapterFolderTest, OnlyFoldersInItHaveNames) {
  const AdapterFolder folder(root_ / "loras");
  EXPECT_TRUE(folder.contains("empty"));
  for (const std::string& name :
       {std::string("out"), std::string("in"), std::string("file"), std::string(".hidden"),
        std::string("."), std::string(".."), std::string("../outside"), std::string("empty/"),
        std::string("a,b"), std::string("none"), std::string("a\nb"), std::string("\xff"),
        std::string(), std::string("empty\0", 6), (root_ / "outside").string(),
        std::string(100000, 'x')}) {
    EXPECT_FALSE(folder.contains(name)) << name;
    EXPECT_THROW(folder.open(name), Error) << name;
  }
}

TEST_F(AdapterFolderTest, AllByBytesOfTheirFiles) {
  const auto write = [&](const fs::path& path, std::size_t bytes) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << std::string(bytes, 'x');
  };
  write("loras/small/adapter_model.safetensors", 10);
  write("loras/small/adapter_config.json", 1);
  write("loras/model/model.safetensors", 5000);
  write("loras/two/a.gguf", 5000);
  write("loras/two/b.gguf", 5000);
  write("loras/large/adapter_model.safetensors", 1000);
  write("loras/large/adapter_config.json", 1);
  write("loras/middle/x.gguf", 100);
  write("loras/config/adapter_config.json", 5000);
  write("loras/.hidden/x.gguf", 5000);
  write("loras/a,b/x.gguf", 5000);
  write("outside/x.gguf", 5000);
  fs::create_symlink(root_ / "outside/x.gguf", root_ / "loras/empty/x.gguf");
  std::vector<std::pair<std::string, std::uint64_t>> all;
  for (const FolderBytes& one : AdapterFolder(root_ / "loras").all_by_bytes()) {
    all.emplace_back(one.name, one.bytes);
  }
  EXPECT_EQ(all, (std::vector<std::pair<std::string, std::uint64_t>>{
                     {"large", 1000}, {"middle", 100}, {"small", 10}}));
}

TEST_F(AdapterFolderTest, AnotherFolderAtItsPathChangesNothing) {
  const AdapterFolder folder(root_ / "loras");
  fs::rename(root_ / "loras", root_ / "before");
  fs::create_directories(root_ / "loras/late");
  EXPECT_TRUE(folder.contains("empty"));
  EXPECT_FALSE(folder.contains("late"));
}

TEST_F(AdapterFolderTest, MessagesBeginWithTheName) {
  const AdapterFolder folder(root_ / "loras");
  try {
    folder.open("empty");
    ADD_FAILURE() << "an empty folder is an adapter";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kModel);
    EXPECT_TRUE(error.message().starts_with("empty: ")) << error.message();
    EXPECT_EQ(error.message().find("/proc"), std::string::npos) << error.message();
  }
}

TEST_F(AdapterFolderTest, ErrorsLoseThePathsOfDescriptors) {
  const Error error(ErrorCode::kIo, "/proc/self/fd/12/a: and /proc/self/fd/3");
  const Error named = AdapterFolder::with_name(error, "pirate");
  EXPECT_EQ(named.code(), ErrorCode::kIo);
  EXPECT_EQ(named.plain_message(), "pirate/a: and pirate");
}

TEST_F(AdapterFolderTest, TheFolderItselfMustExist) {
  EXPECT_THROW(AdapterFolder("/nothing/here"), Error);
  EXPECT_THROW(AdapterFolder(root_ / "loras/file"), Error);
}

}  // namespace
}  // namespace ingot
