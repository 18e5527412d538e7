// Tests of listings: a good one, and anything that a bad server could send.
#include "hub/listing.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/text.h"

namespace ingot {
namespace {

const std::string kCommit(40, 'c');
const std::string kSha1(40, '1');
const std::string kSha256(64, '2');

std::string file(const std::string& name, const std::string& size = "5") {
  return cat(R"({"rfilename": ")", name, R"(", "size": )", size, R"(, "blobId": ")", kSha1,
             R"("})");
}

std::string large(const std::string& lfs) {
  return cat(R"({"rfilename": "big", "size": 7, "blobId": ")", kSha1, R"(", "lfs": )", lfs, "}");
}

std::string answer(const std::string& files, const std::string& commit = kCommit) {
  return cat(R"({"id": "u/r", "sha": ")", commit, R"(", "gated": false, "siblings": [)", files,
             "]}");
}

std::string refusal(const std::string& text) {
  try {
    parse_hub_listing(text, "u/r");
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kModel);
    EXPECT_TRUE(e.message().starts_with("u/r: hub @")) << e.message();
    return e.message();
  }
  return "accepted";
}

TEST(Listing, IsRead) {
  const auto lfs = cat(R"({"sha256": ")", kSha256, R"(", "size": 5000000000, "pointerSize": 135})");
  const HubListing listing = parse_hub_listing(
      answer(cat(file("z.json"), ",", large(lfs), ",", file("a/b.txt", "0"))), "u/r");
  EXPECT_EQ(listing.commit, kCommit);
  EXPECT_EQ(listing.paths(), (std::vector<std::string>{"a/b.txt", "big", "z.json"}));
  ASSERT_NE(listing.find("big"), nullptr);
  EXPECT_EQ(listing.find("big")->bytes, 5'000'000'000U);
  EXPECT_EQ(listing.find("big")->blob, kSha256);
  EXPECT_EQ(listing.find("z.json")->blob, kSha1);
  EXPECT_EQ(listing.find("a/b.txt")->bytes, 0U);
  EXPECT_EQ(listing.find("a"), nullptr);
  EXPECT_TRUE(parse_hub_listing(answer(""), "u/r").files.empty());
}

TEST(Listing, TruncatedAtEveryByte) {
  const std::string text = answer(file("a"));
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_NE(refusal(text.substr(0, size)), "accepted") << size;
  }
}

TEST(Listing, WhatIsNoListing) {
  for (const std::string text : {"<html><body>sign in</body></html>", "[]", "null", "{}", "3"}) {
    EXPECT_NE(refusal(text), "accepted") << text;
  }
  EXPECT_NE(refusal(answer("", "main")).find("names no commit"), std::string::npos);
  EXPECT_NE(refusal(answer("", std::string(40, 'C'))).find("names no commit"), std::string::npos);
  EXPECT_NE(refusal(cat(R"({"sha": ")", kCommit, R"(", "siblings": {}})")).find("lists no files"),
            std::string::npos);
  EXPECT_NE(refusal(answer("3")).find("no name"), std::string::npos);
  EXPECT_NE(refusal(answer(R"({"rfilename": 3})")).find("no name"), std::string::npos);
}

TEST(Listing, PathsStayInside) {
  for (const std::string path :
       {"../x", "/etc/passwd", "a/../../x", "..", ".", "", "a//b", "a/", R"(a\u0000b)", R"(a\nb)",
        R"(a\\b)", R"(a\u001b[2J)", R"(\u202egguf)"}) {
    EXPECT_NE(refusal(answer(file(path))).find("not a path inside"), std::string::npos) << path;
  }
  EXPECT_NE(refusal(answer(file(std::string(2000, 'a')))), "accepted");
  EXPECT_NE(refusal(answer(cat(file("a"), ",", file("a")))).find("listed twice"),
            std::string::npos);
}

TEST(Listing, SizesHaveBounds) {
  for (const std::string size : {"-1", "1.5", "\"5\"", "null", "true", "17592186044417", "1e300",
                                 "9223372036854775807", "99999999999999999999"}) {
    EXPECT_NE(refusal(answer(file("a", size))).find("the size of 'a' is"), std::string::npos)
        << size;
  }
  EXPECT_EQ(refusal(answer(file("a", "17592186044416"))), "accepted");
  EXPECT_NE(refusal(answer(cat(R"({"rfilename": "a", "blobId": ")", kSha1, R"("})"))), "accepted");
}

TEST(Listing, ChecksumsAreThere) {
  for (const std::string& lfs :
       {std::string("{}"), std::string("3"), cat(R"({"size": 5, "sha256": ")", kSha1, R"("})"),
        cat(R"({"size": 5, "sha256": "../../)", kSha256.substr(6), R"("})")}) {
    EXPECT_NE(refusal(answer(large(lfs))).find("no checksum"), std::string::npos) << lfs;
  }
  EXPECT_NE(refusal(answer(R"({"rfilename": "a", "size": 5})")).find("no checksum"),
            std::string::npos);
  EXPECT_NE(refusal(answer(cat(R"({"rfilename": "a", "size": 5, "blobId": ")", kSha256, R"("})"))),
            "accepted");
  EXPECT_EQ(refusal(answer(large("null"))), "accepted");
}

TEST(Listing, FilesHaveABound) {
  std::string files;
  for (std::size_t i = 0; i <= kHubFilesMax; ++i)
    files += cat(i == 0 ? "" : ",", file(cat("f", i)));
  EXPECT_NE(refusal(answer(files)).find("at most 100000"), std::string::npos);
}

}  // namespace
}  // namespace ingot
