// Tests of tries of tokenizers: which tokens are text, markers, or never allowed.
#include "text/chat/constraint_tokens.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "text/tokenizer/tokenizer_test_util.h"

namespace ingot {
namespace {

std::unique_ptr<Tokenizer> tokenizer_of(const TokenizerData& data) {
  std::vector<std::string> warnings;
  return make_tokenizer(data, warnings);
}

TEST(ConstraintTokens, ByteLevelTokens) {
  const auto tokenizer =
      tokenizer_of(testing::byte_level_data("gpt-2", {{" ", "a"}, {"\xE2", "\x82"}},
                                            {{"<|end|>", TokenType::kControl},
                                             {"<|call|>", TokenType::kControl},
                                             {"<think>", TokenType::kUserDefined},
                                             {"[unused]", TokenType::kUnused}}));
  const std::vector<std::string> markers = {"<|call|>", "<|other|>"};
  const auto trie = make_token_trie(*tokenizer, 270, markers);
  EXPECT_EQ(trie->ids(), 270);
  for (std::int32_t b = 0; b < 256; ++b) {
    EXPECT_EQ(trie->bytes(b), std::string(1, static_cast<char>(b)));
    EXPECT_EQ(trie->use(b), TokenUse::kText);
    EXPECT_TRUE(trie->has_byte(static_cast<std::uint8_t>(b)));
  }
  EXPECT_EQ(trie->bytes(256), " a");
  EXPECT_EQ(trie->bytes(257), "\xE2\x82");  // a part of a character
  EXPECT_EQ(trie->use(257), TokenUse::kText);
  EXPECT_EQ(trie->use(258), TokenUse::kNone);
  EXPECT_EQ(trie->use(259), TokenUse::kMarker);
  EXPECT_EQ(trie->bytes(259), "<|call|>");
  EXPECT_EQ(trie->use(260), TokenUse::kText);
  EXPECT_EQ(trie->bytes(260), "<think>");
  // Unused ids, and ids that only the logits have.
  for (std::int32_t id = 261; id < 270; ++id) EXPECT_EQ(trie->use(id), TokenUse::kNone) << id;
}

TEST(ConstraintTokens, SentencePieceTokens) {
  const auto tokenizer = tokenizer_of(testing::sentencepiece_data({"\u2581the", "\u2581", "x"}));
  const auto trie = make_token_trie(*tokenizer, tokenizer->size(), {});
  for (std::int32_t id = 0; id < 3; ++id) EXPECT_EQ(trie->use(id), TokenUse::kNone) << id;
  EXPECT_EQ(trie->bytes(3 + 'A'), "A");  // a byte token
  EXPECT_EQ(trie->bytes(3 + 256), " the");
  EXPECT_EQ(trie->bytes(3 + 257), " ");
  EXPECT_EQ(trie->bytes(3 + 258), "x");
}

TEST(ConstraintTokens, FewerIdsThanTokens) {
  const auto tokenizer = tokenizer_of(testing::byte_level_data("gpt-2", {}));
  const auto trie = make_token_trie(*tokenizer, 100, {});
  EXPECT_EQ(trie->ids(), 100);
  EXPECT_FALSE(trie->has_byte('z'));
}

}  // namespace
}  // namespace ingot
