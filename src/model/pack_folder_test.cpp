// Tests of the pack cache's folder: eviction, abandoned files, and access of other users.
#include "model/pack_folder.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/output_file.h"
#include "base/temp_folder_test_util.h"
#include "base/text.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;

class PackFolderTest : public testing::Test {
 protected:
  PackFolder folder(std::optional<std::int64_t> limit, bool is_default = false) const {
    return PackFolder({.folder = place_, .bytes_max = limit, .is_default = is_default});
  }
  std::string path(std::string_view name) const { return cat(place_, "/", name); }
  /// Makes a file of `bytes` that was read and written at these times, in seconds since 1970.
  void put(std::string_view name, std::size_t bytes, time_t used, time_t written = 1000) const {
    fs::create_directories(place_);
    temp_.write(cat("cache/", name), std::string(bytes, 'x'));
    const timespec times[] = {{.tv_sec = used, .tv_nsec = 0}, {.tv_sec = written, .tv_nsec = 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path(name).c_str(), times, 0), 0);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : fs::directory_iterator(place_)) {
      all.push_back(entry.path().filename().string());
    }
    std::sort(all.begin(), all.end());
    return all;
  }
  static mode_t mode_of(const std::string& path) {
    struct stat st {};
    return ::stat(path.c_str(), &st) == 0 ? st.st_mode & 07777 : 0;
  }

  TempFolder temp_;
  std::string place_ = temp_.path("cache");
};

using Names = std::vector<std::string>;

TEST_F(PackFolderTest, EvictsTheLeastRecentlyUsed) {
  put("a.ingot-pack", 40, 3);
  put("b.ingot-pack", 40, 1);
  put("c.ingot-pack", 40, 2);
  put("notes.txt", 400, 0);
  folder(120).make_room(path("d.ingot-pack"), 40);
  EXPECT_EQ(names(), (Names{"a.ingot-pack", "c.ingot-pack", "notes.txt"}));
  folder(120).make_room(path("d.ingot-pack"), 120);
  EXPECT_EQ(names(), (Names{"notes.txt"}));
}

TEST_F(PackFolderTest, AUseCounts) {
  put("a.ingot-pack", 40, 1);
  put("b.ingot-pack", 40, 2);
  struct stat before {
  }, after{};
  ASSERT_EQ(::stat(path("a.ingot-pack").c_str(), &before), 0);
  folder(120).record_use(path("a.ingot-pack"));
  ASSERT_EQ(::stat(path("a.ingot-pack").c_str(), &after), 0);
  EXPECT_EQ(after.st_mtim.tv_sec, before.st_mtim.tv_sec) << "servers would take it for a change";
  folder(80).make_room(path("c.ingot-pack"), 40);
  EXPECT_EQ(names(), (Names{"a.ingot-pack"}));
}

TEST_F(PackFolderTest, AFileThatIsReplacedNeedsNoRoom) {
  put("a.ingot-pack", 60, 1);
  put("b.ingot-pack", 40, 2);
  folder(100).make_room(path("a.ingot-pack"), 60);
  EXPECT_EQ(names().size(), 2u);
}

TEST_F(PackFolderTest, ALowerLimitHoldsAtTheNextUse) {
  put("a.ingot-pack", 40, 1);
  put("b.ingot-pack", 40, 2);
  folder(50).record_use(path("b.ingot-pack"));
  EXPECT_EQ(names(), (Names{"b.ingot-pack"}));
}

TEST_F(PackFolderTest, WithoutALimitAUsersFolderKeepsAll) {
  put("a.ingot-pack", 40, 1);
  EXPECT_EQ(folder({}).limit(), std::nullopt);
  folder({}).make_room(path("b.ingot-pack"), std::int64_t{1} << 50);
  folder({}).record_use(path("a.ingot-pack"));
  EXPECT_EQ(names(), (Names{"a.ingot-pack"}));
}

TEST_F(PackFolderTest, TheDefaultLimitIsATenthOfTheFreeDiskAtMost) {
  const std::optional<std::int64_t> limit = folder({}, true).limit();
  ASSERT_TRUE(limit);
  EXPECT_GT(*limit, 0);
  EXPECT_LE(*limit, kPackBytesMax);
  EXPECT_LE(*limit, static_cast<std::int64_t>(fs::space(temp_.path()).capacity / 10));
  EXPECT_EQ(folder(7, true).limit(), 7);
}

TEST_F(PackFolderTest, DeletesWhatCrashedWritersLeft) {
  const time_t now = ::time(nullptr);
  put("a.ingot-pack.tmp-12-0", 40, now, now - 4000);
  put("b.ingot-pack.tmp-13-0", 40, now, now);  // killed a moment ago
  put("c.ingot-pack.too-large", 0, now, now - 40 * 24 * 3600);
  put("d.ingot-pack.too-large", 0, now, now);
  put("e.tmp-12-0", 0, now, now - 4000);
  folder({}).make_room(path("f.ingot-pack"), 1);
  EXPECT_EQ(names(), (Names{"d.ingot-pack.too-large", "e.tmp-12-0"}));
}

TEST_F(PackFolderTest, FilesOfLivingWritersStayAndCount) {
  put("a.ingot-pack", 40, 1);
  put("b.ingot-pack.tmp-13-0", 40, 2);
  OutputFile writer(path("w.ingot-pack"), {.piece_bytes = 50, .locked = true});
  writer.write(std::string(50, 'x'));
  folder(130).make_room(path("c.ingot-pack"), 40);  // the unlocked file makes room
  ASSERT_EQ(names().size(), 2u);
  folder(120).make_room(path("c.ingot-pack"), 40);
  EXPECT_EQ(names().size(), 1u) << "the locked file counts";
  EXPECT_THROW(folder(80).make_room(path("c.ingot-pack"), 40), Error);
  folder(80).record_use(path("c.ingot-pack"));
  writer.commit();
  EXPECT_EQ(names(), (Names{"w.ingot-pack"}));
}

TEST_F(PackFolderTest, AUseAlsoDeletesWhatCrashedWritersLeft) {
  put("a.ingot-pack", 40, 1);
  put("b.ingot-pack", 40, 2);
  put("c.ingot-pack.tmp-13-0", 40, 2);
  folder(80).record_use(path("a.ingot-pack"));
  EXPECT_EQ(names(), (Names{"a.ingot-pack", "b.ingot-pack"}));
}

TEST_F(PackFolderTest, RemovesOnlyTheFileThatWasOpened) {
  put("a.ingot-pack", 40, 1);
  put("b.ingot-pack", 40, 1);
  const std::string one = path("a.ingot-pack");
  const File opened(one);
  fs::rename(path("b.ingot-pack"), one);  // another process packed the model anew
  folder({}).remove(one, opened.identity());
  EXPECT_TRUE(fs::exists(one));
  const File replaced(one);
  folder({}).remove(one, replaced.identity());
  EXPECT_FALSE(fs::exists(one));
}

TEST_F(PackFolderTest, SaysWhichFoldersMayExist) {
  EXPECT_TRUE(may_have_folder(temp_.path()));
  EXPECT_TRUE(may_have_folder(temp_.path("new/below")));
  temp_.write("file", "x");
  EXPECT_FALSE(may_have_folder(temp_.path("file")));
  EXPECT_FALSE(may_have_folder(temp_.path("file/below")));
  if (::geteuid() != 0) return;  // only root can give a folder away
  fs::create_directories(place_);
  ASSERT_EQ(::chown(place_.c_str(), 12345, 12345), 0);
  EXPECT_FALSE(may_have_folder(path("below")));
}

TEST_F(PackFolderTest, SaysOnceThatAModelIsTooLarge) {
  const PackFolder cache = folder(1, true);
  EXPECT_TRUE(cache.record_too_large(cache.path("key")));
  EXPECT_FALSE(cache.record_too_large(cache.path("key")));
  EXPECT_TRUE(cache.record_too_large(cache.path("other key")));
}

TEST_F(PackFolderTest, TheDefaultFolderIsPrivate) {
  place_ = temp_.path("cache/of/user");
  const PackFolder cache = folder({}, true);
  cache.expect_private();  // it does not exist
  cache.make_room(path("a.ingot-pack"), 1);
  for (const char* made : {"cache", "cache/of", "cache/of/user"}) {
    EXPECT_EQ(mode_of(temp_.path(made)), 0700u) << made;
  }
  EXPECT_EQ(cache.file_mode(), 0600u);
  for (const mode_t mode : {0720, 0702, 0777}) {
    ASSERT_EQ(::chmod(place_.c_str(), mode), 0);
    EXPECT_THROW(cache.expect_private(), Error) << mode;
    EXPECT_THROW(cache.make_room(path("a.ingot-pack"), 1), Error) << mode;
    EXPECT_NO_THROW(folder({}).expect_private()) << "a user may choose any folder";
  }
  ASSERT_EQ(::chmod(place_.c_str(), 0755), 0);
  EXPECT_NO_THROW(cache.expect_private());
}

TEST_F(PackFolderTest, TheDefaultFolderOfAnotherUserIsNotUsed) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  fs::create_directories(place_);
  ASSERT_EQ(::chown(place_.c_str(), 12345, 12345), 0);
  EXPECT_THROW(folder({}, true).expect_private(), Error);
  // Below it, root would make folders that the other user cannot use.
  const PackFolder below({.folder = place_ + "/ingot/packed", .is_default = true});
  EXPECT_THROW(below.make_room(place_ + "/ingot/packed/a.ingot-pack", 1), Error);
  EXPECT_TRUE(names().empty());
}

TEST_F(PackFolderTest, SaysWhyAFolderCannotBeMade) {
  temp_.write("file", "x");
  place_ = temp_.path("file/below");
  try {
    folder({}).make_room(path("a.ingot-pack"), 1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kIo);
    EXPECT_TRUE(error.message().starts_with(place_ + ": cannot make the folder: "));
  }
}

}  // namespace
}  // namespace ingot
