// Tests of File and Directory: what is refused, and that nothing blocks.
#include "base/file.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "base/error.h"
#include "base/temp_folder_test_util.h"
#include "base/text.h"

namespace ingot {
namespace {

/// The message of the Error that `call` throws; empty when it throws none.
template <class Call>
std::string file_error(Call call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kModel);
    return error.message();
  }
  return {};
}

std::string open_error(const std::string& path) {
  return file_error([&] { File file(path); });
}

std::string reason(const std::string& path, std::string_view text) {
  return cat(path, ": file @0: ", text);
}

TEST(File, ReadsAll) {
  const TempFolder folder;
  const std::string text("a\0b\n", 4);
  const File file(folder.write("f", text));
  EXPECT_EQ(file.size(), 4u);
  EXPECT_EQ(file.name(), folder.path("f"));
  EXPECT_EQ(file.read_all(4), text);
  EXPECT_EQ(file_error([&] { file.read_all(3); }),
            reason(file.name(), "it has 4 bytes, at most 3 are allowed"));
  EXPECT_EQ(File(folder.write("empty", "")).read_all(0), "");
}

TEST(File, ReadsParts) {
  const TempFolder folder;
  const File file(folder.write("f", "0123456789"));
  std::array<std::byte, 4> part{};
  file.read_at(6, part);
  EXPECT_EQ(part[0], std::byte{'6'});
  EXPECT_EQ(part[3], std::byte{'9'});
  EXPECT_EQ(file_error([&] { file.read_at(7, part); }),
            reason(file.name(), "it has 10 bytes, expected 4 from 7"));
  EXPECT_NE(file_error([&] { file.read_at(~std::uint64_t{0}, part); }), "");
}

TEST(File, SaysWhatIsMissing) {
  const TempFolder folder;
  EXPECT_EQ(open_error(folder.path("no")), reason(folder.path("no"), "no such file"));
  EXPECT_EQ(open_error(""), reason("(empty path)", "the path is empty"));
  EXPECT_EQ(open_error(folder.path()), reason(folder.path(), "is a directory"));
  const std::string file = folder.write("f", "x");
  EXPECT_EQ(open_error(file + "/g"), reason(file + "/g", "a part of the path is not a directory"));
  EXPECT_EQ(open_error(file + std::string("\0z", 2)),
            reason(file + "\\x00z", "the path has a NUL byte"));
  EXPECT_EQ(open_error(folder.path("\xFF\xFE")), reason(folder.path("\\xff\\xfe"), "no such file"));
  const std::string longest = open_error(std::string(5000, 'x'));
  EXPECT_TRUE(longest.ends_with(": file @0: the name is too long")) << longest;
}

TEST(File, FollowsTheUsersLinks) {
  const TempFolder folder;
  folder.write("f", "x");
  std::filesystem::create_symlink("f", folder.path("link"));
  EXPECT_EQ(File(folder.path("link")).read_all(9), "x");
  std::filesystem::create_symlink("nowhere", folder.path("dangling"));
  EXPECT_EQ(open_error(folder.path("dangling")), reason(folder.path("dangling"), "no such file"));
  std::filesystem::create_symlink("loop", folder.path("loop"));
  EXPECT_EQ(open_error(folder.path("loop")),
            reason(folder.path("loop"), "too many symbolic links"));
}

TEST(File, RefusesWhatIsNotARegularFileWithoutBlocking) {
  const TempFolder folder;
  const std::string fifo = folder.path("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string socket = folder.path("socket");
  socket.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  for (const std::string& path :
       {fifo, socket, std::string("/dev/zero"), std::string("/dev/random"),
        std::string("/dev/null"), std::string("/dev/tty"), std::string("/proc/self/mem"),
        std::string("/proc/self/maps")}) {
    if (!std::filesystem::exists(path)) continue;
    EXPECT_EQ(open_error(path), reason(path, "is not a regular file"));
  }
  ::close(listener);
}

TEST(File, RefusesWhatMayNotBeRead) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const TempFolder folder;
  const std::string path = folder.write("f", "x");
  ::chmod(path.c_str(), 0);
  EXPECT_EQ(open_error(path), reason(path, "permission denied"));
}

TEST(File, NoticesChanges) {
  const TempFolder folder;
  const std::string path = folder.write("f", "0123456789");
  const File shrunk(path);
  ASSERT_EQ(::truncate(path.c_str(), 5), 0);
  EXPECT_FALSE(shrunk.is_unchanged());
  EXPECT_EQ(file_error([&] { shrunk.read_all(100); }),
            reason(path, "it became shorter while it was being read"));
  const File grown(path);
  ASSERT_EQ(::truncate(path.c_str(), 50), 0);
  EXPECT_EQ(file_error([&] { grown.read_all(100); }),
            reason(path, "it changed while it was being read"));
}

TEST(File, NoticesAChangeInPlaceButNotARename) {
  const TempFolder folder;
  const std::string path = folder.write("f", "0123456789");
  const File file(path);
  folder.write("g", "other text");
  std::filesystem::rename(folder.path("g"), path);
  EXPECT_TRUE(file.is_unchanged()) << "the open file is the old one";
  EXPECT_EQ(file.read_all(10), "0123456789");
  const File second(path);
  const std::array<timespec, 2> times{timespec{.tv_sec = 1, .tv_nsec = 0},
                                      timespec{.tv_sec = 1, .tv_nsec = 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times.data(), 0), 0);
  EXPECT_FALSE(second.is_unchanged());
}

TEST(FileIdentity, AChangeTimeCountsUnlessANameCameOrWent) {
  const FileIdentity before{
      .device = 1, .inode = 2, .bytes = 3, .links = 1, .modified_ns = 4, .changed_ns = 5};
  EXPECT_TRUE(is_same_state(before, before));
  FileIdentity disguised = before;  // written to, and the modification time set back
  disguised.changed_ns = 6;
  EXPECT_FALSE(is_same_state(before, disguised));
  FileIdentity replaced = disguised;
  replaced.links = 0;
  EXPECT_TRUE(is_same_state(before, replaced));
  FileIdentity linked = disguised;
  linked.links = 2;
  EXPECT_TRUE(is_same_state(before, linked));
  FileIdentity written = replaced;
  written.modified_ns = 6;
  EXPECT_FALSE(is_same_state(before, written));
  for (std::uint64_t FileIdentity::*number :
       {&FileIdentity::device, &FileIdentity::inode, &FileIdentity::bytes}) {
    FileIdentity other = replaced;
    other.*number += 1;
    EXPECT_FALSE(is_same_state(before, other));
  }
}

TEST(File, ClosesItsDescriptor) {
  const TempFolder folder;
  const std::string path = folder.write("f", "x");
  int number = -1;
  {
    File file(path);
    number = file.fd();
    const File moved = std::move(file);
    EXPECT_EQ(moved.fd(), number);
    EXPECT_NE(::fcntl(number, F_GETFD) & FD_CLOEXEC, 0);
  }
  EXPECT_EQ(::fcntl(number, F_GETFD), -1);
}

TEST(Directory, OpensAndLists) {
  const TempFolder folder;
  folder.write("b", "2");
  folder.write("a", "1");
  std::filesystem::create_directory(folder.path("sub"));
  const Directory directory(folder.path());
  EXPECT_EQ(directory.list(), (std::vector<std::string>{"a", "b", "sub"}));
  EXPECT_EQ(directory.list().size(), 3u) << "a second time";
  EXPECT_EQ(directory.open("a").read_all(9), "1");
  EXPECT_EQ(directory.open("a").name(), folder.path("a"));
  EXPECT_TRUE(directory.contains("a"));
  EXPECT_FALSE(directory.contains("c"));
  EXPECT_FALSE(directory.contains("sub"));
  EXPECT_EQ(Directory(folder.path() + "/").open("a").name(), folder.path("a"));
}

TEST(Directory, OpensPlainNamesOnly) {
  const TempFolder folder;
  std::filesystem::create_directory(folder.path("sub"));
  folder.write("sub/f", "x");
  folder.write("f", "y");
  const Directory directory(folder.path("sub"));
  for (const std::string_view name :
       {std::string_view(""), std::string_view("."), std::string_view(".."),
        std::string_view("../f"), std::string_view("/etc/passwd"), std::string_view("./f"),
        std::string_view("f/"), std::string_view("f\0", 2)}) {
    EXPECT_FALSE(directory.contains(name));
    EXPECT_EQ(file_error([&] { directory.open(name); }),
              reason(folder.path("sub"), cat("'", printable(name), "' is not a plain file name")));
  }
}

TEST(Directory, LinksMayNotLeadOutside) {
  const TempFolder folder;
  std::filesystem::create_directory(folder.path("sub"));
  folder.write("outside", "x");
  folder.write("sub/inside", "y");
  std::filesystem::create_symlink("inside", folder.path("sub/good"));
  std::filesystem::create_symlink("../outside", folder.path("sub/up"));
  std::filesystem::create_symlink("/etc/passwd", folder.path("sub/absolute"));
  std::filesystem::create_symlink("/proc/self/exe", folder.path("sub/magic"));
  std::filesystem::create_symlink("nowhere", folder.path("sub/dangling"));
  const Directory directory(folder.path("sub"));
  for (const std::string name : {"up", "absolute", "magic"}) {
    EXPECT_FALSE(directory.contains(name));
    const std::string message = file_error([&] { directory.open(name); });
    EXPECT_TRUE(message.starts_with(folder.path("sub/") + name + ": file @0: ")) << message;
  }
  EXPECT_EQ(file_error([&] { directory.open("up"); }),
            reason(folder.path("sub/up"), "leads outside its folder"));
  EXPECT_NE(file_error([&] { directory.open("dangling"); }), "");
  if (directory.contains("good")) {  // kernels before 5.6 refuse every link
    EXPECT_EQ(directory.open("good").read_all(9), "y");
  }
}

TEST(Directory, RefusesWhatIsNotARegularFileWithoutBlocking) {
  const TempFolder folder;
  ASSERT_EQ(::mkfifo(folder.path("fifo").c_str(), 0600), 0);
  std::filesystem::create_directory(folder.path("sub"));
  const Directory directory(folder.path());
  EXPECT_FALSE(directory.contains("fifo"));
  EXPECT_EQ(file_error([&] { directory.open("fifo"); }),
            reason(folder.path("fifo"), "is not a regular file"));
  EXPECT_EQ(file_error([&] { directory.open("sub"); }),
            reason(folder.path("sub"), "is a directory"));
}

TEST(Directory, SaysWhatIsMissing) {
  const TempFolder folder;
  const std::string file = folder.write("f", "x");
  EXPECT_EQ(file_error([&] { Directory d(file); }), reason(file, "is not a directory"));
  EXPECT_EQ(file_error([&] { Directory d(folder.path("no")); }),
            reason(folder.path("no"), "no such file"));
  EXPECT_EQ(file_error([&] { Directory d(""); }), reason("(empty path)", "the path is empty"));
}

}  // namespace
}  // namespace ingot
