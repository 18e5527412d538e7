// Tests of OutputFile: whole or not at all, and full devices.
#include "base/output_file.h"

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <thread>

#include "base/error.h"
#include "base/temp_folder_test_util.h"

namespace ingot {
namespace {

std::string read(const std::string& path) { return File(path).read_all(1 << 24); }

std::size_t entries(const TempFolder& folder) { return Directory(folder.path()).list().size(); }

template <class Call>
std::string output_error(Call call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kIo);
    return error.message();
  }
  return {};
}

TEST(OutputFile, AppearsAtCommit) {
  const TempFolder folder;
  OutputFile file(folder.path("out"));
  file.write("hello ");
  file.write(std::as_bytes(std::span("world", 5)));
  EXPECT_FALSE(std::filesystem::exists(folder.path("out")));
  file.commit();
  EXPECT_EQ(read(folder.path("out")), "hello world");
  EXPECT_EQ(entries(folder), 1u);
}

TEST(OutputFile, LargeAndSmallPiecesKeepTheirOrder) {
  for (const std::size_t at_once : {std::size_t{64} << 10, std::size_t{2} << 20}) {
    const TempFolder folder;
    OutputFile file(folder.path("out"), {.piece_bytes = at_once});
    std::string all;
    for (const std::size_t bytes : {std::size_t{3}, at_once - 3, std::size_t{1}, 5 * at_once / 2,
                                    std::size_t{0}, std::size_t{1}, std::size_t{7}, at_once}) {
      std::string piece(bytes, '\0');
      for (std::size_t i = 0; i < bytes; ++i) {
        piece[i] = static_cast<char>(all.size() + i * i % 251);
      }
      file.write(piece);
      all += piece;
    }
    file.commit();
    EXPECT_TRUE(read(folder.path("out")) == all) << at_once;
  }
}

TEST(OutputFile, WithoutCommitNothingChanges) {
  const TempFolder folder;
  folder.write("out", "old");
  {
    OutputFile file(folder.path("out"));
    file.write(std::string(1 << 20, 'x'));
    EXPECT_EQ(entries(folder), 2u);
  }
  EXPECT_EQ(read(folder.path("out")), "old");
  EXPECT_EQ(entries(folder), 1u);
}

TEST(OutputFile, ReplacesKeepingPermissionsAndLinks) {
  const TempFolder folder;
  folder.write("real", "old");
  ASSERT_EQ(::chmod(folder.path("real").c_str(), 0640), 0);
  std::filesystem::create_symlink("real", folder.path("link"));
  OutputFile file(folder.path("link"));
  file.write("new");
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path("link")));
  EXPECT_EQ(read(folder.path("real")), "new");
  struct stat st {};
  ASSERT_EQ(::stat(folder.path("real").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0640u);
}

TEST(OutputFile, GivesNewFilesTheChosenPermissions) {
  const TempFolder folder;
  OutputFile file(folder.path("out"), {.mode = 0600, .synced = false});
  file.write("new");
  file.commit();
  EXPECT_EQ(read(folder.path("out")), "new");
  EXPECT_EQ(entries(folder), 1u);
  struct stat st {};
  ASSERT_EQ(::stat(folder.path("out").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0600u);
}

TEST(OutputFile, AFullDeviceIsAnError) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const std::string message = "/dev/full: cannot write: no space left on device";
  EXPECT_EQ(output_error([] {
              OutputFile file("/dev/full");
              file.write("x");
              file.commit();
            }),
            message);
  EXPECT_EQ(output_error([] {
              OutputFile file("/dev/full");
              file.write(std::string(1 << 20, 'x'));
            }),
            message);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST(OutputFile, DevicesAndFifosAreWrittenDirectly) {
  OutputFile null("/dev/null");
  null.write("x");
  null.commit();
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));

  const TempFolder folder;
  const std::string fifo = folder.path("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] {
    std::ifstream in(fifo);
    std::getline(in, got);
  });
  OutputFile file(fifo);
  file.write("through\n");
  file.commit();
  reader.join();
  EXPECT_EQ(got, "through");
}

TEST(OutputFile, SaysWhyItCannotWrite) {
  const TempFolder folder;
  const std::string file = folder.write("f", "x");
  EXPECT_EQ(output_error([&] { OutputFile out(folder.path()); }),
            folder.path() + ": cannot write: is a directory");
  EXPECT_EQ(output_error([&] { OutputFile out(folder.path("no/f")); }),
            folder.path("no/f") + ": cannot write: no such file");
  EXPECT_EQ(output_error([&] { OutputFile out(file + "/g"); }),
            file + "/g: cannot write: a part of the path is not a directory");
  EXPECT_EQ(output_error([&] { OutputFile out(""); }), "(empty path): cannot write: no such file");
  EXPECT_NE(output_error([&] { OutputFile out(std::string(5000, 'x')); }), "");
}

/// Imitates a disk that fills up by a limit on the size of files.
TEST(OutputFileDeathTest, ADiskThatFillsUpLeavesNothing) {
  const TempFolder folder;
  const auto run = [&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = 100000, .rlim_max = 100000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const std::string message = output_error([&] {
      OutputFile file(folder.path("out"));
      for (int i = 0; i < 100; ++i) file.write(std::string(5000, 'x'));
      file.commit();
    });
    std::fprintf(stderr, "%s\n", message.c_str());
    std::_Exit(entries(folder) == 0 ? 7 : 8);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(7), "/out: cannot write: file too large");
}

}  // namespace
}  // namespace ingot
