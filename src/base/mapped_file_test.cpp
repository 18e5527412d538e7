// Tests of MappedFile: contents, release, and the end of a process whose file is damaged under it.
#include "base/mapped_file.h"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/output_file.h"
#include "base/temp_folder_test_util.h"
#include "base/thread_pool.h"

namespace ingot {
namespace {

MappedFile map(const std::string& path) { return MappedFile(File(path)); }

std::string_view text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

/// Reads a byte that the compiler may not skip.
char touch(const MappedFile& file, std::size_t offset) {
  return *reinterpret_cast<const volatile char*>(file.bytes().data() + offset);
}

TEST(MappedFile, HoldsTheFilesBytes) {
  const TempFolder folder;
  MappedFile file = map(folder.write("f", "hello"));
  EXPECT_EQ(text_of(file), "hello");
  EXPECT_EQ(file.name(), folder.path("f"));
  MappedFile moved = std::move(file);
  EXPECT_EQ(text_of(moved), "hello");
  MappedFile other = map(folder.write("g", "world"));
  other = std::move(moved);
  EXPECT_EQ(text_of(other), "hello");
}

TEST(MappedFile, EmptyFilesAndNoFile) {
  const TempFolder folder;
  const MappedFile empty = map(folder.write("f", ""));
  EXPECT_TRUE(empty.bytes().empty());
  empty.release(0, 100);
  empty.expect_unchanged();
  EXPECT_TRUE(MappedFile().bytes().empty());
}

TEST(MappedFile, OutlivesItsName) {
  const TempFolder folder;
  const std::string path = folder.write("f", "hello");
  const MappedFile file = map(path);
  ASSERT_EQ(::unlink(path.c_str()), 0);
  EXPECT_EQ(text_of(file), "hello");
  file.expect_unchanged();
}

TEST(MappedFile, ReleasedPagesComeBack) {
  const TempFolder folder;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::string text;
  for (std::size_t i = 0; i < 4 * page + 100; ++i) text += static_cast<char>('a' + i % 23);
  const MappedFile file = map(folder.write("f", text));
  EXPECT_EQ(text_of(file), text);
  file.release(1, 2 * page);
  file.release(0, text.size());
  file.release(text.size() + 1, 5);
  file.release(0, ~std::uint64_t{0});
  EXPECT_EQ(text_of(file), text);
}

TEST(MappedFile, ExpectUnchanged) {
  const TempFolder folder;
  const std::string path = folder.write("f", "hello");
  const MappedFile file = map(path);
  file.expect_unchanged();
  ASSERT_EQ(::truncate(path.c_str(), 100), 0);
  try {
    file.expect_unchanged();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kIo);
    EXPECT_EQ(error.message(), path + ": file @0: it changed while it was being read");
  }
}

TEST(MappedFile, AFileLargerThanMemoryIsAnError) {
  const TempFolder folder;
  const std::string path = folder.write("f", "");
  if (::truncate(path.c_str(), off_t{1} << 62) != 0) GTEST_SKIP() << "no sparse files of 2^62";
  EXPECT_THROW(map(path), Error);
}

TEST(MappedFile, ManyFilesComeAndGo) {
  const TempFolder folder;
  const std::string path = folder.write("f", "hello");
  for (int round = 0; round < 2; ++round) {
    std::vector<MappedFile> files;
    files.reserve(200);
    for (int i = 0; i < 200; ++i) files.push_back(map(path));
    for (const MappedFile& file : files) EXPECT_EQ(text_of(file), "hello");
  }
  // One after the other, more files than the table of ranges has entries.
  for (int i = 0; i < 5000; ++i) EXPECT_EQ(text_of(map(path)), "hello");
}

/// Keeps core files away and, before the first file is mapped, takes away the handler that a
/// sanitizer has put there.
void expect_plain_sigbus() {
  const rlimit no_core{.rlim_cur = 0, .rlim_max = 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  std::signal(SIGBUS, SIG_DFL);
}

/// Passes the parent's folder to the re-executed child, which dies before it could remove its own.
constexpr char kFolderVariable[] = "INGOT_TEST_FOLDER";

class MappedFileDeathTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ::testing::FLAGS_gtest_death_test_style = "threadsafe";
    page_ = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    if (const char* const parents = std::getenv(kFolderVariable)) {
      path_ = parents;
    } else {
      folder_.emplace();
      path_ = folder_->path();
      ::setenv(kFolderVariable, path_.c_str(), 1);
    }
  }
  void TearDown() override { ::unsetenv(kFolderVariable); }

  std::string write(std::string_view name, std::size_t bytes) const {
    std::string path = path_ + "/" + std::string(name);
    std::ofstream(path, std::ios::binary) << std::string(bytes, 'x');
    return path;
  }

  std::size_t page_ = 0;
  std::string path_;

 private:
  std::optional<TempFolder> folder_;
};

TEST_F(MappedFileDeathTest, TruncationEndsTheProcessWithTheFilesName) {
  const auto run = [&] {
    const std::string path = write("broken\nname.gguf", 3 * page_);
    const MappedFile other = map(write("other", 3 * page_));
    const MappedFile file = map(path);
    if (touch(file, 0) != 'x') std::exit(1);
    if (::truncate(path.c_str(), 10) != 0) std::exit(2);
    static_cast<void>(touch(file, 2 * page_ + 5));
    std::exit(3);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(74),
              "^error: .*/broken\\\\x0aname.gguf: file @[0-9]+: it was truncated or its storage "
              "failed while in use\n$");
}

TEST_F(MappedFileDeathTest, TheOffsetIsTheFaultsOffset) {
  const auto run = [&] {
    const std::string path = write("f", 4096 * 4);
    const MappedFile file = map(path);
    if (::truncate(path.c_str(), 0) != 0) std::exit(2);
    static_cast<void>(touch(file, 4096 * 2 + 17));
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(74), "/f: file @8209: it was truncated");
}

TEST_F(MappedFileDeathTest, ATruncatedFileTakesUnfinishedOutputsAlong) {
  const auto run = [&] {
    const std::string path = write("f", 4096 * 4);
    const MappedFile file = map(path);
    OutputFile out(path_ + "/out");
    out.write("half of it");
    if (::truncate(path.c_str(), 0) != 0) std::exit(2);
    static_cast<void>(touch(file, 9000));
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(74), "/f: file @9000: it was truncated");
  EXPECT_EQ(Directory(path_).list(), std::vector<std::string>{"f"});
}

TEST_F(MappedFileDeathTest, FaultsOfPoolThreadsAreCaughtToo) {
  const auto run = [&] {
    ThreadPool pool(2);
    const std::string path = write("f", 64 * page_);
    const MappedFile file = map(path);
    if (::truncate(path.c_str(), 0) != 0) std::exit(2);
    std::atomic<bool> touched{false};
    pool.parallel_for(64, [&](std::int64_t item, int thread) {
      // The caller waits, so that the fault is a worker's.
      while (thread == 0 && !touched.load()) std::this_thread::yield();
      static_cast<void>(touch(file, static_cast<std::size_t>(item) * page_));
      touched = true;
    });
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(74), "/f: file @[0-9]+: it was truncated");
}

TEST_F(MappedFileDeathTest, OtherFaultsKeepTheirDefaultAndRunTheActions) {
  const auto run = [&] {
    expect_plain_sigbus();
    OutputFile out(path_ + "/out");
    out.write("half of it");
    const MappedFile ours = map(write("ours", 1));
    // A mapping that the table does not know.
    const std::string path = write("theirs", page_);
    const File file(path);
    void* const address = ::mmap(nullptr, page_, PROT_READ, MAP_SHARED, file.fd(), 0);
    if (::truncate(path.c_str(), 0) != 0) std::exit(2);
    static_cast<void>(*static_cast<const volatile char*>(address));
    std::exit(3);
  };
  EXPECT_EXIT(run(), ::testing::KilledBySignal(SIGBUS), "");
  EXPECT_EQ(Directory(path_).list(), (std::vector<std::string>{"ours", "theirs"}));
}

TEST_F(MappedFileDeathTest, ASignalThatWasSentKeepsItsDefault) {
  const auto run = [&] {
    expect_plain_sigbus();
    const MappedFile file = map(write("f", 1));
    ::raise(SIGBUS);
    std::exit(3);
  };
  EXPECT_EXIT(run(), ::testing::KilledBySignal(SIGBUS), "");
}

TEST_F(MappedFileDeathTest, AnUnmappedRangeIsForgotten) {
  const auto run = [&] {
    expect_plain_sigbus();
    const std::string path = write("f", page_);
    const std::byte* address = nullptr;
    {
      const MappedFile file = map(path);
      address = file.bytes().data();
    }
    const File file(path);
    void* const again = ::mmap(const_cast<std::byte*>(address), page_, PROT_READ,
                               MAP_SHARED | MAP_FIXED, file.fd(), 0);
    if (again != address) std::exit(4);
    if (::truncate(path.c_str(), 0) != 0) std::exit(2);
    static_cast<void>(*reinterpret_cast<const volatile char*>(address));
    std::exit(3);
  };
  EXPECT_EXIT(run(), ::testing::KilledBySignal(SIGBUS), "");
}

}  // namespace
}  // namespace ingot
