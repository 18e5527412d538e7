// Tests of added tokens that may stand in some stretches of a text only.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "text/tokenizer/tokenizer.h"
#include "text/tokenizer/tokenizer_test_util.h"

namespace ingot {
namespace {

using Ids = std::vector<std::int32_t>;

/// Bytes, "ab" as 256, then <a> as 257, <a>b as 258 and <think> as 259.
std::unique_ptr<Tokenizer> byte_level() {
  std::vector<std::string> warnings;
  return make_tokenizer(testing::byte_level_data("default", {{"a", "b"}},
                                                 {{"<a>", TokenType::kControl},
                                                  {"<a>b", TokenType::kControl},
                                                  {"<think>", TokenType::kUserDefined}}),
                        warnings);
}

Ids encode(std::string_view text, const std::vector<TextSpan>& spans) {
  return byte_level()->encode(text, {.parse_special = true, .added_within = spans});
}

TEST(TokenizerSpans, ATokenStandsOnlyWholeWithinASpan) {
  EXPECT_EQ(encode("<a>", {{0, 3}}), Ids{257});
  EXPECT_EQ(encode("<a>", {}), (Ids{'<', 'a', '>'}));
  EXPECT_EQ(encode("<a>", {{0, 2}}), (Ids{'<', 'a', '>'}));
  EXPECT_EQ(encode("<a>", {{0, 1}, {1, 3}}), (Ids{'<', 'a', '>'}));
  EXPECT_EQ(encode("<a><a>", {{3, 6}}), (Ids{'<', 'a', '>', 257}));
  EXPECT_EQ(encode("<think>", {}), (Ids{'<', 't', 'h', 'i', 'n', 'k', '>'}));
  EXPECT_EQ(encode("<think>", {{0, 7}}), Ids{259});
}

TEST(TokenizerSpans, WhatFollowsASpanDoesNotLengthenItsToken) {
  EXPECT_EQ(encode("<a>b", {{0, 4}}), Ids{258});
  EXPECT_EQ(encode("<a>b", {{0, 3}}), (Ids{257, 'b'}));
}

TEST(TokenizerSpans, OrdinaryTextIsJoinedAcrossTheirEnds) {
  EXPECT_EQ(encode("ab", {{0, 1}}), Ids{256});
  EXPECT_EQ(encode("<a>ab<a>", {{0, 4}, {5, 8}}), (Ids{257, 256, 257}));
}

TEST(TokenizerSpans, WithoutSpansTokensStandAnywhere) {
  EXPECT_EQ(byte_level()->encode("a<a>", {.parse_special = true}), (Ids{'a', 257}));
}

}  // namespace
}  // namespace ingot
