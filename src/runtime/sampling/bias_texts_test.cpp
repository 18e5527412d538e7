// Texts as keys of logit_bias, and the tokens of bad words.
#include "runtime/sampling/bias_texts.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "runtime/sampling/bad_words.h"
#include "text/tokenizer/tokenizer_test_util.h"

namespace ingot::testing {
namespace {

/// Token b stands for byte b, and token 256 for "th".
std::unique_ptr<Tokenizer> byte_tokenizer() {
  std::vector<std::string> warnings;
  return make_tokenizer(byte_level_data("gpt-2", {{"t", "h"}}), warnings);
}

/// The object with ids, or the error's message.
std::string with_ids(std::string_view json) {
  try {
    return with_token_ids(parse_json(json, "test", "json"), byte_tokenizer().get()).dump();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalid);
    return error.message();
  }
}

TEST(BiasTexts, ATextOfOneTokenIsThatToken) {
  EXPECT_EQ(with_ids(R"({"th": 1.5, "a": -2})"), R"({"256":1.5,"97":-2})");
  EXPECT_EQ(with_ids(R"({"7": 1, "-7": 1, "01": 1})"), R"({"7":1,"-7":1,"01":1})");
  EXPECT_EQ(with_ids(R"({"\n": true})"), R"({"10":true})");
  EXPECT_EQ(with_ids("[1]"), "[1]");
}

TEST(BiasTexts, OtherTextsAreRefused) {
  EXPECT_EQ(with_ids(R"({"thx": 1})"),
            "logit_bias[\"thx\"] is 2 tokens, possible are ids and texts of one token");
  EXPECT_EQ(with_ids(R"({"": 1})").find("logit_bias[\"\"] is "), 0u);
  EXPECT_EQ(with_ids("{\"" + std::string(5000, 'x') + "\": 1}").find("logit_bias[\"xxx"), 0u);
}

TEST(BiasTexts, StayWithoutATokenizer) {
  const Json biases = parse_json(R"({"th": 1})", "test", "json");
  EXPECT_EQ(with_token_ids(biases, nullptr).dump(), biases.dump());
}

TEST(BadWordTokens, AreThoseAloneAndBehindASpace) {
  using Sequences = std::vector<std::vector<std::int32_t>>;
  const auto tokenizer = byte_tokenizer();
  const auto tokens = [&](const std::vector<std::string>& words) {
    return bad_word_tokens(words, *tokenizer);
  };
  EXPECT_EQ(tokens({"th"}), (Sequences{{' ', 256}, {256}}));
  EXPECT_EQ(tokens({"ax", "ax"}), (Sequences{{' ', 'a', 'x'}, {'a', 'x'}}));
  EXPECT_EQ(tokens({}), Sequences{});
}

}  // namespace
}  // namespace ingot::testing
