// Tests of ApiKeys: files of keys, their modes, and finding a key.
#include "server/common/api_keys.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "base/error.h"
#include "base/text.h"

namespace ingot {
namespace {

const std::string kAlice = "alice-0123456789";
const std::string kBob = "bob-0123456789-and-more";

std::string error_of(const std::string& text) {
  try {
    ApiKeys keys(text, "keys.txt");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalid);
    return error.message();
  }
  return "none";
}

TEST(ApiKeys, WithoutKeysThereIsNothingToFind) {
  EXPECT_TRUE(ApiKeys().is_empty());
  EXPECT_FALSE(ApiKeys().find(""));
}

TEST(ApiKeys, FindsEachKeyAndNothingElse) {
  const ApiKeys keys(cat("# a comment\n\nalice:", kAlice, "\r\n", kBob, " \t\n"), "keys.txt");
  ASSERT_EQ(keys.size(), 2U);
  EXPECT_EQ(keys.find(kAlice), 1U);
  EXPECT_EQ(keys.find(kBob), 2U);
  EXPECT_EQ(keys.id(1), "alice");
  EXPECT_EQ(keys.id(2), "key-2");
  for (const std::string& other :
       {std::string(), kAlice + "x", kAlice.substr(1), kAlice.substr(0, 15), "alice:" + kAlice,
        kAlice + "\n", std::string("alice"), kAlice + std::string(1, '\0')}) {
    EXPECT_FALSE(keys.find(other)) << printable(other, 60);
  }
}

TEST(ApiKeys, RefusesWhatIsNoKeyWithoutShowingIt) {
  for (const std::string& text : {std::string("fifteen-letters"), std::string("id:fifteen-letters"),
                                  "with a space" + kAlice, kAlice + "\x7f", kAlice + "\xc3\xa9"}) {
    const std::string message = error_of(kBob + "\n" + text);
    EXPECT_NE(message.find("line 2"), std::string::npos) << message;
    EXPECT_EQ(message.find(text), std::string::npos) << message;
  }
  EXPECT_NE(error_of("\n# only a comment\n").find("holds no key"), std::string::npos);
  EXPECT_NE(error_of("").find("holds no key"), std::string::npos);
  std::string many;
  for (int i = 0; i < 1025; ++i) many += cat("key-of-16-letters-", i, "\n");
  EXPECT_NE(error_of(many).find("more than 1024"), std::string::npos);
}

TEST(ApiKeys, ReadsFilesOfTheirOwnerAlone) {
  std::string path = testing::TempDir() + "keys-XXXXXX";
  const int fd = ::mkstemp(path.data());
  ASSERT_GE(fd, 0);
  ::close(fd);
  std::ofstream(path) << kAlice << "\n";
  EXPECT_EQ(read_api_keys(path).find(kAlice), 1U);
  for (const mode_t mode : {0640U, 0604U, 0620U, 0601U}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    EXPECT_THROW(read_api_keys(path), Error);
  }
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  std::ofstream(path) << std::string(300 << 10, 'k');
  EXPECT_THROW(read_api_keys(path), Error);
  ::unlink(path.c_str());
  EXPECT_THROW(read_api_keys(path), Error);
  EXPECT_THROW(read_api_keys(testing::TempDir()), Error);
}

}  // namespace
}  // namespace ingot
