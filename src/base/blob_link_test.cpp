// Tests of the hub cache's links: they are followed into their own cache's blobs and nowhere else.
#include "base/blob_link.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/error.h"
#include "base/temp_folder_test_util.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;

const std::string kBlob(40, 'a');
const std::string kCommit(40, 'c');

/// A repository of the cache with one blob, and links to it in a snapshot.
class BlobLink : public ::testing::Test {
 protected:
  BlobLink() {
    fs::create_directories(snapshot("sub/deep"));
    fs::create_directories(cache_.path("repo/blobs"));
    cache_.write("repo/blobs/" + kBlob, "content");
    cache_.write("secret", "secret");
    link("file", "../../blobs/" + kBlob);
    link("sub/file", "../../../blobs/" + kBlob);
    link("sub/deep/file", "../../../../blobs/" + kBlob);
  }

  std::string snapshot(const std::string& name = "") const {
    return cache_.path("repo/snapshots/" + kCommit + (name.empty() ? "" : "/" + name));
  }
  void link(const std::string& name, const std::string& target) const {
    fs::remove(snapshot(name));
    fs::create_symlink(target, snapshot(name));
  }
  /// The content that opening finds, or why it is refused.
  static std::string open(const std::string& folder, const std::string& name = "file") {
    try {
      return Directory(folder).open(name).read_all(100);
    } catch (const Error& e) {
      return "refused: " + e.message();
    }
  }
  static void expect_refused(const std::string& folder, const std::string& name = "file") {
    EXPECT_TRUE(open(folder, name).starts_with("refused: ")) << open(folder, name);
    EXPECT_FALSE(Directory(folder).contains(name));
  }

  TempFolder cache_;
};

TEST_F(BlobLink, SnapshotsOpen) {
  for (const std::string folder : {"", "sub", "sub/deep"}) {
    EXPECT_EQ(open(snapshot(folder)), "content");
    EXPECT_TRUE(Directory(snapshot(folder)).contains("file"));
  }
  const std::string sha256(64, '0');
  cache_.write("repo/blobs/" + sha256, "large");
  link("large", "../../blobs/" + sha256);
  EXPECT_EQ(open(snapshot(), "large"), "large");
}

TEST_F(BlobLink, SnapshotsOpenThroughALinkToTheFolder) {
  fs::create_directory_symlink(snapshot(), cache_.path("short"));
  EXPECT_EQ(open(cache_.path("short")), "content");
}

TEST_F(BlobLink, OtherTargetsAreRefused) {
  for (const std::string& target :
       {"../../blobs/" + kBlob + "/../../../secret", std::string("../../../secret"),
        std::string("../../blobs/../../secret"), "../../blobs/./" + kBlob,
        "../../../blobs/" + kBlob, "../../blobs/sub/" + kBlob, "../../blobs/" + kBlob + "/",
        "../../blobs/" + kBlob.substr(1), "../../blobs/" + kBlob + "a",
        "../../blobs/" + std::string(40, 'A'), "../../blobs/" + std::string(64, 'b'),
        cache_.path("repo/blobs/" + kBlob), "..//../blobs/" + kBlob, std::string("../../blobs/"),
        "../../blobs2/" + kBlob, cache_.path("secret"), std::string("/etc/passwd")}) {
    link("file", target);
    expect_refused(snapshot());
  }
}

TEST_F(BlobLink, OtherPlacesAreRefused) {
  // The same links in a folder that is no snapshot beside those blobs.
  fs::rename(cache_.path("repo/snapshots"), cache_.path("repo/models"));
  expect_refused(cache_.path("repo/models/" + kCommit));
  expect_refused(cache_.path("repo/models/" + kCommit + "/sub"));
  fs::create_directory(cache_.path("repo/snapshots"));
  expect_refused(cache_.path("repo/models/" + kCommit));
  fs::remove(cache_.path("repo/snapshots"));
  fs::create_directory_symlink("models", cache_.path("repo/snapshots"));
  expect_refused(cache_.path("repo/models/" + kCommit));
}

TEST_F(BlobLink, BlobsAreFilesAndNoLinks) {
  const std::string blob = cache_.path("repo/blobs/" + kBlob);
  fs::remove(blob);
  expect_refused(snapshot());
  fs::create_symlink("../../secret", blob);
  expect_refused(snapshot());
  fs::remove(blob);
  fs::create_directory(blob);
  expect_refused(snapshot());
  // Nor is their folder a link to elsewhere.
  fs::remove(blob);
  fs::create_directory(cache_.path("elsewhere"));
  cache_.write("elsewhere/" + kBlob, "secret");
  fs::remove(cache_.path("repo/blobs"));
  fs::create_directory_symlink("../elsewhere", cache_.path("repo/blobs"));
  expect_refused(snapshot());
}

TEST(BlobName, IsAChecksum) {
  EXPECT_TRUE(is_blob_name(std::string(40, '9')));
  EXPECT_TRUE(is_blob_name(std::string(64, 'f')));
  for (const std::string& name :
       {std::string(), std::string(39, 'a'), std::string(41, 'a'), std::string(63, 'a'),
        std::string(65, 'a'), std::string(40, 'g'), std::string(40, 'F'), std::string(40, '/'),
        std::string(40, '.'), std::string(40, '\0')}) {
    EXPECT_FALSE(is_blob_name(name)) << name;
  }
}

}  // namespace
}  // namespace ingot
