// Tests of removal: blobs that only the model used go, blobs of other models stay.
#include "hub/remove_model.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "hub/cache_test_util.h"
#include "hub/file_lock.h"

namespace ingot {
namespace {

using Names = std::vector<std::string>;

/// A repository with two revisions that share a blob, and an unfinished download.
class RemoveModel : public ::testing::Test {
 protected:
  RemoveModel() {
    cache_.add("u/n", 'c', "m-Q4_0.gguf", '1');
    cache_.add("u/n", 'c', "m-Q8_0.gguf", '2', "01234");
    cache_.add("u/n", 'd', "m-Q4_0.gguf", '1');
    cache_.add("u/n", 'd', "sub/README.md", '3', "read");
    repo_.set_ref("main", digits('c'));
    repo_.set_ref("same", digits('c'));
    repo_.set_ref("v1", digits('d'));
    std::ofstream(repo_.incomplete(digits('4'))) << "part";
  }

  Removal plan(const std::string& name) const {
    return plan_removal(cache_.root, parse_model_name(name).value());
  }
  void remove(const std::string& name) {
    remove_model(plan(name), [&](std::string_view text) { notes_.emplace_back(text); });
  }

  TestCache cache_;
  RepoCache repo_ = cache_.repo("u/n");
  Names notes_;
};

TEST_F(RemoveModel, ThePlanSaysWhatBecomesFree) {
  EXPECT_EQ(plan("u/n").paths, (Names{"m-Q4_0.gguf", "m-Q8_0.gguf"}));
  EXPECT_EQ(plan("u/n").bytes, 5U) << "the other revision uses the first";
  EXPECT_EQ(plan("u/n:Q8_0").paths, Names{"m-Q8_0.gguf"});
  EXPECT_EQ(plan("n@v1").bytes, 4U);
}

TEST_F(RemoveModel, ASnapshotGoesWithItsReferences) {
  remove("u/n");
  EXPECT_EQ(repo_.snapshots(), Names{digits('d')});
  EXPECT_EQ(repo_.revisions(), Names{"v1"});
  EXPECT_EQ(repo_.blob_files(), (Names{digits('1'), digits('3'), digits('4') + ".incomplete"}));
}

TEST_F(RemoveModel, ANameWithoutAFileMeansAllQuantisations) {
  cache_.add("u/n", 'c', "m-Q4_K_M.gguf", '5');
  const Removal all = plan("u/n");
  EXPECT_TRUE(all.is_whole);
  EXPECT_EQ(all.paths, (Names{"m-Q4_0.gguf", "m-Q4_K_M.gguf", "m-Q8_0.gguf"}));
  EXPECT_EQ(plan("u/n:q4_k_m").paths, Names{"m-Q4_K_M.gguf"});
}

TEST_F(RemoveModel, NothingIsLeftOfTheLastOne) {
  remove("u/n");
  remove("u/n@v1");
  EXPECT_FALSE(TestCache::is_there(repo_.folder()));
  EXPECT_EQ(notes_, Names{});
  EXPECT_THROW(plan("u/n"), Error);
}

TEST_F(RemoveModel, OneFile) {
  remove("u/n:Q8_0");
  EXPECT_EQ(paths_of(repo_.files(digits('c'))), Names{"m-Q4_0.gguf"});
  EXPECT_EQ(repo_.commit_of("main"), digits('c'));
  EXPECT_EQ(repo_.blob_files(), (Names{digits('1'), digits('3'), digits('4') + ".incomplete"}));
  remove("u/n:Q4_0");
  EXPECT_EQ(repo_.snapshots(), Names{digits('d')});
  EXPECT_EQ(repo_.revisions(), Names{"v1"});
}

TEST_F(RemoveModel, WhatIsBeingDownloadedStays) {
  remove("u/n@v1");
  make_folders(repo_.lock_folder());
  const auto lock = FileLock::try_lock(repo_.lock(digits('4')));
  ASSERT_TRUE(lock);
  remove("u/n");
  ASSERT_EQ(notes_.size(), 1U);
  EXPECT_NE(notes_[0].find("another process"), std::string::npos);
  EXPECT_EQ(repo_.blob_files(), Names{digits('4') + ".incomplete"});
}

TEST_F(RemoveModel, NothingOutsideIsTouched) {
  // A snapshot with links of the user's own.
  cache_.folder.write("precious", "x");
  std::filesystem::create_directory(cache_.folder.path("precious-folder"));
  cache_.folder.write("precious-folder/f", "x");
  const std::filesystem::path snapshot = repo_.snapshot(digits('c'));
  std::filesystem::create_symlink(cache_.folder.path("precious"), snapshot / "link");
  std::filesystem::create_directory_symlink(cache_.folder.path("precious-folder"),
                                            snapshot / "folder");
  remove("u/n");
  EXPECT_TRUE(TestCache::is_there(cache_.folder.path("precious")));
  EXPECT_TRUE(TestCache::is_there(cache_.folder.path("precious-folder/f")));
}

TEST_F(RemoveModel, LinksOfAnyNameKeepTheirContent) {
  // The hub's own client takes names that ingot does not.
  const std::string deep = repo_.snapshot(digits('d')) + "/1/2/3/4/5/6/7/8/9";
  std::filesystem::create_directories(deep);
  std::filesystem::create_symlink("../../../../../../../../../../../blobs/" + digits('2'),
                                  deep + "/odd");
  EXPECT_EQ(plan("u/n").bytes, 0U);
  remove("u/n");
  EXPECT_TRUE(TestCache::is_there(repo_.blob(digits('2'))));
  remove("u/n@v1:m-Q4_0.gguf");
  remove("u/n@v1:sub/README.md");
  EXPECT_EQ(repo_.blob_files(), (Names{digits('2'), digits('4') + ".incomplete"}));
  EXPECT_EQ(repo_.snapshots(), Names{digits('d')});
}

TEST_F(RemoveModel, WhatIsNotThere) {
  for (const std::string name : {"u/other", "u/n@v2", "u/n:Q6_K"}) {
    try {
      plan(name);
      ADD_FAILURE() << name;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::kModel) << name;
    }
  }
}

}  // namespace
}  // namespace ingot
