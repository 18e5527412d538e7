// Tests of the hub cache's layout.
#include "hub/cache.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "hub/cache_test_util.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

// Source: huggingface_hub, "Understand caching".
TEST(Cache, PathsAreThoseOfTheHubsClient) {
  EXPECT_EQ(RepoCache("/c", "user/name").folder(), "/c/models--user--name");
  EXPECT_EQ(RepoCache("/c", "gpt2").folder(), "/c/models--gpt2");
  const RepoCache cache("/c", "u/n");
  EXPECT_EQ(cache.blob("b"), "/c/models--u--n/blobs/b");
  EXPECT_EQ(cache.incomplete("b"), "/c/models--u--n/blobs/b.incomplete");
  EXPECT_EQ(cache.lock("b"), "/c/.locks/models--u--n/b.lock");
  EXPECT_EQ(cache.snapshot("s"), "/c/models--u--n/snapshots/s");
  EXPECT_EQ(cache.ref("refs/pr/1"), "/c/models--u--n/refs/refs/pr/1");
}

TEST(Cache, LinksLeadToBlobs) {
  const TestCache cache;
  cache.add("u/n", 'c', "a.txt", '1');
  cache.add("u/n", 'c', "x/y/b.txt", '2', "two");
  const RepoCache repo = cache.repo("u/n");
  const fs::path snapshot = repo.snapshot(digits('c'));
  EXPECT_EQ(fs::read_symlink(snapshot / "a.txt"), "../../blobs/" + digits('1'));
  EXPECT_EQ(fs::read_symlink(snapshot / "x/y/b.txt"), "../../../../blobs/" + digits('2'));
  EXPECT_EQ(File((snapshot / "x/y/b.txt").string()).read_all(9), "two");
  EXPECT_EQ(Directory(snapshot.string()).open("a.txt").read_all(10), "0123456789");
  const auto files = repo.files(digits('c'));
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[1].path, "x/y/b.txt");
  EXPECT_EQ(files[1].bytes, 3U);
  EXPECT_EQ(files[1].blob, digits('2'));
}

TEST(Cache, LinkingReplaces) {
  const TestCache cache;
  cache.add("u/n", 'c', "a", '1');
  cache.add("u/n", 'c', "a", '1');
  cache.add("u/n", 'c', "a", '2', "new");
  const RepoCache repo = cache.repo("u/n");
  EXPECT_EQ(File(repo.snapshot(digits('c')) + "/a").read_all(9), "new");
  EXPECT_EQ(repo.files(digits('c')).size(), 1U);
  EXPECT_EQ(repo.blob_files(), (Names{digits('1'), digits('2')}));
}

TEST(Cache, Revisions) {
  const TestCache cache;
  cache.add("u/n", 'c', "a", '1');
  const RepoCache repo = cache.repo("u/n");
  EXPECT_EQ(repo.commit_of("main"), std::nullopt);
  repo.set_ref("main", digits('c'));
  repo.set_ref("refs/pr/1", digits('d'));
  EXPECT_EQ(repo.commit_of("main"), digits('c'));
  EXPECT_EQ(repo.commit_of(digits('c')), digits('c'));
  EXPECT_EQ(repo.commit_of("refs/pr/1"), std::nullopt) << "there is no snapshot of it";
  EXPECT_EQ(repo.commit_of(digits('d')), std::nullopt);
  EXPECT_EQ(repo.revisions(), (Names{"main", "refs/pr/1"}));
  EXPECT_EQ(repo.snapshots(), Names{digits('c')});
  std::ofstream(repo.ref("main")) << digits('c') << "\n";
  EXPECT_EQ(repo.commit_of("main"), digits('c'));
  for (const std::string content : {"", "../../..", "main", "cc"}) {
    std::ofstream(repo.ref("main")) << content;
    EXPECT_EQ(repo.commit_of("main"), std::nullopt) << content;
  }
}

TEST(Cache, WhatIsForeignIsLeftAside) {
  const TestCache cache;
  cache.add("u/n", 'c', "a", '1');
  const RepoCache repo = cache.repo("u/n");
  const fs::path snapshot = repo.snapshot(digits('c'));
  fs::create_symlink("../../blobs/" + digits('9'), snapshot / "gone");
  fs::create_directory_symlink("/", snapshot / "root");
  fs::create_directories(fs::path(repo.folder()) / "snapshots" / "other");
  for (const char* name :
       {"datasets--u--n", "models--", "models--..", "version.txt", "models--a--b--c"}) {
    fs::create_directories(cache.root + "/" + name);
  }
  EXPECT_EQ(paths_of(repo.files(digits('c'))), Names{"a"});
  EXPECT_EQ(repo.snapshots(), Names{digits('c')});
  const auto repos = cached_repos(cache.root);
  ASSERT_EQ(repos.size(), 1U);
  EXPECT_EQ(repos[0].repo(), "u/n");
  EXPECT_TRUE(cached_repos(cache.folder.path("nowhere")).empty());
}

TEST(Cache, AFolderThatCannotBeMade) {
  const TestCache cache;
  const std::string file = cache.folder.write("file", "x");
  EXPECT_THROW(make_folders(file + "/sub"), Error);
  EXPECT_THROW(RepoCache(file, "u/n").set_ref("main", digits('c')), Error);
  EXPECT_THROW(RepoCache(file, "u/n").link(digits('c'), "a", digits('1')), Error);
}

}  // namespace
}  // namespace ingot
