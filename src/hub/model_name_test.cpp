// Tests of model names: their parts, and texts that must never become a path or a URL.
#include "hub/model_name.h"

#include <gtest/gtest.h>

namespace ingot {
namespace {

using namespace std::string_literals;

TEST(ModelName, IsTakenApart) {
  const auto plain = parse_model_name("user/repo");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->repo, "user/repo");
  EXPECT_EQ(plain->revision, "main");
  EXPECT_EQ(plain->file, "");
  const auto full = parse_model_name("user/repo@refs/pr/1:sub/a:b@c.gguf");
  ASSERT_TRUE(full);
  EXPECT_EQ(full->repo, "user/repo");
  EXPECT_EQ(full->revision, "refs/pr/1");
  EXPECT_EQ(full->file, "sub/a:b@c.gguf");
  EXPECT_EQ(parse_model_name("gpt2")->repo, "gpt2");
  EXPECT_EQ(parse_model_name("user/repo:Q4_K_M")->file, "Q4_K_M");
  for (const std::string text : {"user/repo", "gpt2", "u/r@v1.0", "u/r:f", "u/r@x:f"}) {
    EXPECT_EQ(to_string(*parse_model_name(text)), text);
  }
}

TEST(ModelName, WhatIsNone) {
  for (const std::string& text : {""s,
                                  "/"s,
                                  "a/"s,
                                  "/a"s,
                                  "a/b/c"s,
                                  "../b"s,
                                  "a/.."s,
                                  "./a"s,
                                  "a/.b"s,
                                  "a/b."s,
                                  "-a/b"s,
                                  "a/b-"s,
                                  "a--b/c"s,
                                  "a/b..c"s,
                                  "a/b c"s,
                                  "a/b\0"s,
                                  "a/b\n"s,
                                  "a/\xc3\xa4"s,
                                  "~/a"s,
                                  "a/b@"s,
                                  "a/b@:c"s,
                                  "a/b:"s,
                                  "a/b:/etc/passwd"s,
                                  "a/b:../c"s,
                                  "a/b:c/../d"s,
                                  "a/b:c//d"s,
                                  "a/b:."s,
                                  "a/b:c\0d"s,
                                  "a/b:c\nd"s,
                                  "a/b:c\\d"s,
                                  "a/b:\xff"s,
                                  "a/b@../c"s,
                                  "a/b@/c"s,
                                  "a/b@c/"s,
                                  "a/b@.c"s,
                                  "a/b@c..d"s,
                                  "a/b@c d"s,
                                  "a/b@c?d"s,
                                  "a/b@c%2f"s,
                                  "a/b@c#d"s,
                                  "https://huggingface.co/a/b"s,
                                  std::string(97, 'a') + "/b",
                                  "a/" + std::string(97, 'b'),
                                  "a/b@" + std::string(256, 'c'),
                                  "a/b:" + std::string(256, 'c')}) {
    EXPECT_FALSE(parse_model_name(text)) << text;
  }
  EXPECT_TRUE(parse_model_name(std::string(96, 'a') + "/" + std::string(96, 'b')));
  EXPECT_TRUE(parse_model_name("a/b@" + std::string(255, 'c') + ":" + std::string(255, 'd')));
}

TEST(ModelName, PathsHaveBounds) {
  EXPECT_TRUE(is_repo_path("1/2/3/4/5/6/7/8"));
  EXPECT_FALSE(is_repo_path("1/2/3/4/5/6/7/8/9"));
  const std::string part(255, 'p');
  EXPECT_TRUE(is_repo_path(part + "/" + part + "/" + part + "/" + part));
  EXPECT_FALSE(is_repo_path(part + "/" + part + "/" + part + "/" + part + "/x"));
  EXPECT_TRUE(is_repo_path("mod\xc3\xa8le.gguf"));
  EXPECT_FALSE(
      is_repo_path("a\xe2\x80\xae"
                   "b"));  // turns the direction of writing
  EXPECT_TRUE(is_repo_path("..a/b.."));
}

TEST(ModelName, Commits) {
  EXPECT_TRUE(is_commit(std::string(40, 'a')));
  EXPECT_FALSE(is_commit(std::string(64, 'a')));
  EXPECT_FALSE(is_commit("main"));
}

}  // namespace
}  // namespace ingot
