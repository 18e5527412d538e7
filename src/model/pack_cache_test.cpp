// Tests of files of packed weights: written weights come back, damaged files are refused.
#include "model/pack_cache.h"

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "base/temp_folder_test_util.h"
#include "base/text.h"

namespace ingot {
namespace {

using Bytes = std::vector<std::byte>;

Bytes pattern(std::size_t count, int seed) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) {
    bytes[i] = static_cast<std::byte>((i * 31 + static_cast<std::size_t>(seed)) >> 1);
  }
  return bytes;
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

class PackCache : public testing::Test {
 protected:
  PackCache() {
    Bytes last;
    write_packed(path_, 0600, kKey, sizes_, [&](std::size_t i) -> std::span<const std::byte> {
      asked_.push_back(i);
      return last = *wants_[i];  // valid until the next call
    });
  }

  std::optional<PackedFile> open(std::string_view key = kKey) {
    return open_packed(path_, key, sizes_, pool_);
  }

  static constexpr std::string_view kKey = "cpu layout 1\nmatrix 16x32 Q8_0\n";
  TempFolder folder_;
  ThreadPool pool_{2};
  Bytes a_ = pattern(5000, 1), b_ = pattern(64, 2), c_ = pattern(12'288, 3);
  std::vector<const Bytes*> wants_{&a_, &b_, &c_};
  std::vector<std::size_t> asked_;  ///< weights whose bytes were asked for
  std::vector<std::int64_t> sizes_{5000, 64, 12'288};
  std::string path_ = packed_path(folder_.path(), kKey);
};

TEST_F(PackCache, GivesBackWhatWasWritten) {
  const auto packed = open();
  ASSERT_TRUE(packed);
  ASSERT_EQ(packed->weights.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(std::ranges::equal(packed->weights[i], *wants_[i])) << i;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(packed->weights[i].data()) % 4096, 0u) << i;
  }
}

TEST_F(PackCache, AsksForEachWeightOnceAndInOrder) {
  EXPECT_EQ(asked_, (std::vector<std::size_t>{0, 1, 2}));
}

TEST_F(PackCache, AFailureLeavesTheOldFile) {
  const std::string before = read_file(path_);
  const auto fail = [this](std::size_t i) -> std::span<const std::byte> {
    if (i == 1) throw Error(ErrorCode::kInternal, "the device is lost");
    return *wants_[i];
  };
  EXPECT_THROW(write_packed(path_, 0600, kKey, sizes_, fail), Error);
  EXPECT_EQ(read_file(path_), before);
  const std::filesystem::directory_iterator files(std::filesystem::path(path_).parent_path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 1) << "a temporary file is left";
}

TEST_F(PackCache, HasNothingUnderAnotherKey) {
  const std::string other = cat(kKey, "matrix 16x32 Q8_0\n");
  EXPECT_NE(packed_path("f", other), packed_path("f", kKey));
  EXPECT_FALSE(open_packed(packed_path(folder_.path(), other), other, sizes_, pool_));
  // Even where the names of files collide.
  std::string same_size(kKey);
  same_size.back() = ' ';
  EXPECT_THROW(open(same_size), Error);
}

TEST_F(PackCache, RefusesOtherSizes) {
  for (std::int64_t& size : sizes_) {
    for (const std::int64_t step : {-1, 1}) {
      size += step;
      EXPECT_THROW(open(), Error);
      size -= step;
    }
  }
  sizes_.pop_back();
  EXPECT_THROW(open(), Error);
}

TEST_F(PackCache, RefusesEveryChangedByteThatIsRead) {
  const std::string whole = read_file(path_);
  const std::size_t key_end = 24 + kKey.size();
  const std::size_t table = 16'384 + 12'288;
  ASSERT_EQ(whole.size(), table + 3 * 24 + 8);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    const bool gap = (at >= key_end && at < 4096) || (at >= 4096 + 5000 && at < 12'288) ||
                     (at >= 12'288 + 64 && at < 16'384);
    if (gap) continue;
    if (at > key_end && at < table && at % 97 != 0) continue;
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 4);
    write_file(path_, changed);
    EXPECT_THROW(open(), Error) << at;
  }
}

TEST_F(PackCache, RefusesEveryOtherLength) {
  const std::string whole = read_file(path_);
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{31}, std::size_t{100},
                                  std::size_t{4096}, whole.size() - 1}) {
    write_file(path_, whole.substr(0, bytes));
    EXPECT_THROW(open(), Error) << bytes;
  }
  write_file(path_, whole + '\0');
  EXPECT_THROW(open(), Error);
}

/// A file's version explains more than its length, which also depends on the version.
TEST_F(PackCache, NamesWhyItRefusesAFile) {
  const auto refusal = [&](const std::string& bytes) -> std::string {
    write_file(path_, bytes);
    try {
      open();
    } catch (const Error& error) {
      return error.message();
    }
    return "";
  };
  const std::string whole = read_file(path_);
  for (const std::string& old : {cat("ingotpk1", whole.substr(8)), cat("ingotpk1", whole.substr(9)),
                                 std::string("ingotpk1"), std::string("x")}) {
    EXPECT_TRUE(refusal(old).ends_with(": it belongs to another model or version")) << refusal(old);
  }
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{5}, whole.size() - 1}) {
    const std::string size = cat(": the file has ", bytes, " bytes, expected ", whole.size());
    EXPECT_TRUE(refusal(whole.substr(0, bytes)).ends_with(size)) << refusal(whole.substr(0, bytes));
  }
}

TEST_F(PackCache, RefusesFilesOfOthersIfAsked) {
  const auto open_private = [&] { return open_packed(path_, kKey, sizes_, pool_, true); };
  EXPECT_TRUE(open_private());
  for (const auto writer :
       {std::filesystem::perms::group_write, std::filesystem::perms::others_write}) {
    std::filesystem::permissions(path_, writer, std::filesystem::perm_options::add);
    EXPECT_THROW(open_private(), Error);
    EXPECT_TRUE(open());
    std::filesystem::permissions(path_, writer, std::filesystem::perm_options::remove);
  }
  if (::geteuid() != 0) return;  // only root can give a file away
  ASSERT_EQ(::chown(path_.c_str(), 12345, 12345), 0);
  EXPECT_THROW(open_private(), Error);
  EXPECT_TRUE(open());
}

/// Evicting is safe: the pages stay until the last mapping ends.
TEST_F(PackCache, AMappedFileOutlivesItsName) {
  const auto packed = open();
  ASSERT_TRUE(packed);
  std::filesystem::remove(path_);
  EXPECT_TRUE(std::ranges::equal(packed->weights[2], c_));
  EXPECT_NO_THROW(packed->file.expect_not_overwritten());
}

TEST_F(PackCache, RefusesWhatIsNoFile) {
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  EXPECT_THROW(open(), Error);
}

/// Only a damaged or foreign file may be deleted, so callers tell it from other failures.
TEST_F(PackCache, FailuresOfTheSystemAreNoDamage) {
  std::uint64_t seen = 0;
  const auto is_damage = [&] {
    try {
      open();
    } catch (const BadPackedFile& error) {
      seen = error.file().inode;
      return true;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kIo);
      return false;
    }
    ADD_FAILURE() << "no error";
    return false;
  };
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const bool without_descriptors = is_damage();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_FALSE(without_descriptors);
  EXPECT_TRUE(open());
  write_file(path_, "damaged");
  EXPECT_TRUE(is_damage());
  EXPECT_EQ(seen, File(path_).identity().inode);
  std::filesystem::remove(path_);
  EXPECT_FALSE(open()) << "a file that is gone is no error";
  std::filesystem::create_directory(path_);
  EXPECT_FALSE(is_damage());
}

TEST_F(PackCache, SaysWhereItCannotWrite) {
  write_file(folder_.path() + "/file", "x");
  EXPECT_THROW(write_packed(folder_.path() + "/file/x.ingot-pack", 0600, kKey, {},
                            [](std::size_t) { return std::span<const std::byte>(); }),
               Error);
}

}  // namespace
}  // namespace ingot
