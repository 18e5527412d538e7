// Encoding with small vocabularies, and vocabularies that must be refused.
#include "text/tokenizer/tokenizer.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/small_stack_test_util.h"
#include "base/text.h"
#include "quant/test_data.h"
#include "text/tokenizer/detokenizer.h"
#include "text/tokenizer/tokenizer_random_test_util.h"
#include "text/tokenizer/tokenizer_test_util.h"

namespace ingot::testing {
namespace {

using Ids = std::vector<std::int32_t>;

std::unique_ptr<Tokenizer> make(const TokenizerData& data) {
  std::vector<std::string> warnings;
  auto tokenizer = make_tokenizer(data, warnings);
  EXPECT_TRUE(warnings.empty()) << warnings[0];
  return tokenizer;
}

std::string refusal(const TokenizerData& data) {
  std::vector<std::string> warnings;
  try {
    make_tokenizer(data, warnings);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kModel);
    EXPECT_EQ(e.message().find('\n'), std::string::npos);
    constexpr std::string_view kStart = "test.gguf: tokenizer @0: ";
    EXPECT_EQ(e.message().substr(0, kStart.size()), kStart);
    return e.message().substr(std::min(kStart.size(), e.message().size()));
  }
  return "accepted";
}

TEST(ByteBpe, MergesByRankLeftmostFirst) {
  // 256 "ab", 257 "bc", 258 "abc", 259 "aa"
  const auto t = make(byte_level_data("gpt-2", {{"a", "b"}, {"b", "c"}, {"a", "bc"}, {"a", "a"}}));
  EXPECT_EQ(t->encode("ab"), (Ids{256}));
  EXPECT_EQ(t->encode("abc"), (Ids{256, 'c'}));
  EXPECT_EQ(t->encode("bc"), (Ids{257}));
  EXPECT_EQ(t->encode("aaa"), (Ids{259, 'a'}));
  EXPECT_EQ(t->encode(""), Ids{});
  EXPECT_EQ(t->encode("ab ab"), (Ids{256, ' ', 256}));
  EXPECT_EQ(t->size(), 260);
  EXPECT_EQ(t->text_bytes_per_token_max(), 3u);
}

TEST(ByteBpe, OnlyLlama3TakesWholePieces) {
  const std::vector<std::pair<std::string, std::string>> merges = {
      {"a", "b"}, {"b", "c"}, {"a", "bc"}};
  EXPECT_EQ(make(byte_level_data("llama-bpe", merges))->encode("abc"), (Ids{258}));
  EXPECT_EQ(make(byte_level_data("qwen2", merges))->encode("abc"), (Ids{256, 'c'}));
}

TEST(ByteBpe, OfEqualMergesTheFirstCounts) {
  TokenizerData data = byte_level_data("gpt-2", {{"a", "b"}, {"b", "c"}});
  data.merges.add("b c");
  data.merges.add("a b");
  EXPECT_EQ(make(data)->encode("abc"), (Ids{256, 'c'}));
}

TEST(ByteBpe, Qwen2Normalises) {
  EXPECT_EQ(make(byte_level_data("qwen2", {{"a", "b"}}))->encode("e\u0301"), (Ids{0xC3, 0xA9}));
  EXPECT_EQ(make(byte_level_data("gpt-2", {{"a", "b"}}))->encode("e\u0301"),
            (Ids{'e', 0xCC, 0x81}));
  EXPECT_EQ(make(byte_level_data("qwen2", {{"a", "b"}}))->text_bytes_per_token_max(), 6u);
}

// T12: bytes go through as bytes, whatever they are.
TEST(ByteBpe, AnyBytesRoundTrip) {
  Random random(23);
  for (const char* pre : {"default", "gpt-2", "llama-bpe"}) {
    const auto t =
        make(byte_level_data(pre, {{"a", "b"}, {"\xC3", "\xA9"}, {" ", "a"}, {"\x80", "a"}}));
    for (int i = 0; i < 2'000; ++i) {
      const std::string text = random_text(random);
      ASSERT_EQ(joined(*t, t->encode(text)), text) << pre;
    }
  }
}

TEST(ByteBpe, MissingBytesAreLeftOutAndReported) {
  std::vector<TestPiece> pieces = byte_letters();
  pieces.erase(pieces.begin() + 'x');
  pieces.push_back({"ab"});
  TokenizerData data = byte_level_pieces("gpt-2", pieces);
  data.merges.add("a b");
  std::vector<std::string> warnings;
  const auto t = make_tokenizer(data, warnings);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0], "test.gguf: 1 bytes (of 256) have no token and are left out");
  EXPECT_EQ(joined(*t, t->encode("axb")), "ab");
  EXPECT_FALSE(t->text_bytes_per_token_max());
}

TEST(ByteBpe, UnknownPretokenizersAreRefused) {
  for (const char* pre : {"", "gpt2", "no-such", "\x1B[31m"}) {
    EXPECT_EQ(refusal(byte_level_data(pre, {{"a", "b"}})).substr(0, 20), "tokenizer.ggml.pre '")
        << pre;
  }
}

// T13
TEST(ByteBpe, SpecialTokensOnlyOnDemand) {
  const auto t = make(byte_level_data("qwen2", {{"a", "b"}},
                                      {{"<|im_end|>", TokenType::kControl},
                                       {"<think>", TokenType::kUserDefined},
                                       {"<|im_end|>ab", TokenType::kControl}}));
  const std::string text = "ab<|im_end|><think>";
  const Ids plain = t->encode(text);
  EXPECT_EQ(joined(*t, plain), text);
  for (const std::int32_t id : plain) EXPECT_LT(id, 257);
  EXPECT_EQ(t->encode(text, {.parse_special = true}), (Ids{256, 257, 258}));
  Ids user_defined = t->encode("ab<|im_end|>");
  user_defined.push_back(258);
  EXPECT_EQ(t->encode(text, {.parse_user_defined = true}), user_defined);
  // The longest token at a place is taken.
  EXPECT_EQ(t->encode("<|im_end|>ab<|im_end", {.parse_special = true}).front(), 259);
}

TEST(ByteBpe, RunsOfSpacesThatAreUserDefinedAreText) {
  const auto t = make(byte_level_data(
      "gpt-2", {{" ", " "}}, {{"  ", TokenType::kUserDefined}, {"   ", TokenType::kUserDefined}}));
  EXPECT_EQ(t->encode("a     b"), (Ids{'a', 258, 257, 'b'}));
}

TEST(Tokenizer, Framing) {
  TokenizerData data = byte_level_data(
      "llama-bpe", {{"a", "b"}}, {{"<s>", TokenType::kControl}, {"</s>", TokenType::kControl}});
  EXPECT_FALSE(make(data)->adds_bos());
  EXPECT_EQ(make(data)->encode("ab", {.add_begin = true, .add_end = true}), (Ids{256}));
  data.bos = 257;
  data.eos = 258;
  data.frame_begin = {257};
  EXPECT_TRUE(make(data)->adds_bos());
  EXPECT_FALSE(make(data)->adds_eos());
  EXPECT_EQ(make(data)->encode("ab", {.add_begin = true, .add_end = true}), (Ids{257, 256}));
  EXPECT_EQ(make(data)->encode("ab"), (Ids{256}));
  data.frame_begin = {};
  data.frame_end = {257, 258};
  EXPECT_TRUE(make(data)->adds_eos());
  EXPECT_EQ(make(data)->encode("", {.add_begin = true, .add_end = true}), (Ids{257, 258}));
  data.frame_end = {259};
  EXPECT_EQ(refusal(data), "the frame's end is token 259 of 259");
}

TEST(Tokenizer, Prompts) {
  TokenizerData data = byte_level_data(
      "llama-bpe", {{"a", "b"}}, {{"<s>", TokenType::kControl}, {"</s>", TokenType::kControl}});
  data.bos = 257;
  data.eos = 258;
  data.frame_begin = {257};
  data.frame_end = {258};
  const auto t = make(data);
  EXPECT_EQ(t->encode_prompt("ab", true), (Ids{257, 256})) << "no EOS";
  EXPECT_EQ(t->encode_prompt("", true), (Ids{257}));
  EXPECT_EQ(t->encode_prompt("<s>ab", true), (Ids{257, 256})) << "no second BOS";
  EXPECT_EQ(t->encode_prompt("<s><s>ab</s>", true), (Ids{257, 257, 256, 258}));
  EXPECT_EQ(t->encode_prompt("ab<s>", true), (Ids{257, 256, 257}));
  EXPECT_EQ(t->encode_prompt("<s>", false), (Ids{257, '<', 's', '>'}));
  EXPECT_EQ(t->encode_prompt("<s>ab", true, false), (Ids{257, 256}));
  EXPECT_EQ(t->encode_prompt("ab", true, false), (Ids{256}));
  EXPECT_EQ(t->encode("ab", {.add_begin = true}), (Ids{257, 256}));
  EXPECT_EQ(t->encode("ab", {.add_end = true}), (Ids{256, 258}));
}

// G42
TEST(ByteBpe, MalformedMergesAreRefused) {
  const auto with_merge = [](const std::string& merge) {
    TokenizerData data = byte_level_data("gpt-2", {{"a", "b"}});
    data.merges.add(merge);
    return refusal(data);
  };
  for (const char* merge : {"", "ab", " ", " b", "a ", "a  b", "a b ", "a b c"}) {
    EXPECT_EQ(with_merge(merge),
              cat("merge 1 is '", merge, "', expected two pieces with one space between"));
  }
  EXPECT_EQ(with_merge("x y"), "merge 1 needs the piece 'xy', which is no token");
  EXPECT_EQ(with_merge("q\u20AC b"), "merge 1 needs the piece 'q\u20AC', which is no token");
  EXPECT_EQ(with_merge("a \x1B"), "merge 1 needs the piece '\\x1b', which is no token");
  EXPECT_EQ(with_merge("b a").substr(0, 31), "merge 1 needs the piece 'ba', w");
  EXPECT_EQ(with_merge("a b"), "accepted");
  EXPECT_EQ(refusal(byte_level_pieces("gpt-2", byte_letters())), "bpe without merges");
  TokenizerData many = byte_level_data("gpt-2", {{"a", "b"}});
  for (int i = 0; i < 5'000'000; ++i) many.merges.add("a b");
  EXPECT_EQ(refusal(many), "5000001 merges are more than 4194304");
}

TEST(SentencePieceBpe, MergesByScoreLeftmostFirst) {
  // 259 "▁a", 260 "ab", 261 "▁", 262 "a", 263 "b", 264 "aa", 265 "▁ab"
  const auto t = make(sentencepiece_data({"▁a", "ab", "▁", "a", "b", "aa", "▁ab"}));
  EXPECT_EQ(t->encode("ab"), (Ids{265}));
  EXPECT_EQ(t->encode("bab"), (Ids{261, 263, 260}));
  EXPECT_EQ(t->encode("baaa"), (Ids{261, 263, 264, 262}));
  EXPECT_EQ(t->encode(""), Ids{});
  EXPECT_EQ(t->encode(" "), (Ids{261, 261}));
  EXPECT_EQ(t->encode("b▁a"), (Ids{261, 263, 259}));
  EXPECT_EQ(t->piece(265), " ab");
  EXPECT_EQ(t->piece(3 + 'x'), "x");
  EXPECT_EQ(t->piece(1), "<s>");
  EXPECT_EQ(t->piece(-1), "");
  EXPECT_EQ(t->piece(266), "");
  EXPECT_EQ(t->type(3), TokenType::kByte);
  EXPECT_EQ(t->type(266), TokenType::kUnused);
  EXPECT_TRUE(t->adds_bos());
  EXPECT_EQ(t->encode("ab", {.add_begin = true, .add_end = true}), (Ids{1, 265}));
}

TEST(SentencePieceBpe, PiecesMayHoldSpacesAnywhere) {
  const auto t = make(sentencepiece_data({"▁", "a", "b", "▁a", "▁b", "▁a▁b", "▁▁", "b▁"}));
  EXPECT_EQ(t->encode("a b"), (Ids{264}));
  EXPECT_EQ(t->encode("   b"), (Ids{265, 259, 263}));
  EXPECT_EQ(t->encode("a  b"), (Ids{262, 259, 263}));
}

TEST(SentencePieceBpe, EqualScoresMergeFromTheLeft) {
  TokenizerData data = sentencepiece_data(
      {"▁", "a", "b"}, {{"ab", TokenType::kNormal, -9}, {"ba", TokenType::kNormal, -9}});
  EXPECT_EQ(make(data)->encode("aba"), (Ids{259, 262, 260}));
  EXPECT_EQ(make(data)->encode("baab"), (Ids{259, 263, 262}));
}

TEST(SentencePieceBpe, UnknownCharactersBecomeBytes) {
  const auto t = make(sentencepiece_data({"▁", "a"}));
  EXPECT_EQ(t->encode("aé"), (Ids{259, 260, 3 + 0xC3, 3 + 0xA9}));
  EXPECT_EQ(t->encode("\xFF"
                      "a\x80"),
            (Ids{259, 3 + 0xFF, 260, 3 + 0x80}));
  EXPECT_EQ(t->encode(std::string("\0a", 2)), (Ids{259, 3, 260}));
  EXPECT_EQ(t->text_bytes_per_token_max(), 3u * 5u)
      << "the longest piece is the unknown token's text";
}

// T12: every byte survives, except U+2581, which is a space.
TEST(SentencePieceBpe, AnyBytesRoundTrip) {
  Random random(29);
  const auto t = make(sentencepiece_data({"▁", "a", "▁a", "ab", "é", "▁▁"}));
  for (int i = 0; i < 3'000; ++i) {
    const std::string text = random_text(random);
    std::string wanted;
    for (std::size_t at = 0; at < text.size();) {
      const bool mark = text.compare(at, 3, "▁") == 0;
      wanted += mark ? ' ' : text[at];
      at += mark ? 3 : 1;
    }
    ASSERT_EQ(joined(*t, t->encode(text)), text.empty() ? "" : " " + wanted);
  }
}

TEST(SentencePieceBpe, WithoutBytesRunsOfUnknownCharactersAreOneToken) {
  TokenizerData data = sentencepiece_data({"▁", "a"}, {}, false);
  const auto t = make(data);
  EXPECT_EQ(t->encode("aéüa中"), (Ids{3, 4, 0, 4, 0}));
  EXPECT_FALSE(t->text_bytes_per_token_max());
  data.unknown.reset();
  EXPECT_EQ(refusal(data), "neither byte tokens nor an unknown token");
}

TEST(SentencePieceBpe, UserDefinedPiecesAreMatchedFirst) {
  // 262 "bb", 263 "[REF]", 264 "[REF]x"
  const auto t = make(sentencepiece_data({"▁", "a", "ab"}, {{"bb", TokenType::kUserDefined},
                                                            {"[REF]", TokenType::kUserDefined},
                                                            {"[REF]x", TokenType::kUserDefined}}));
  EXPECT_EQ(t->encode("abb"), (Ids{259, 260, 262}));
  EXPECT_EQ(t->encode("[REF]a[REF]x"), (Ids{259, 263, 260, 264}));
}

// Restarting at every place would take minutes: a vocabulary that is made for that.
TEST(SentencePieceBpe, UserDefinedPiecesThatAlmostMatch) {
  const std::string run(60'000, 'a');
  const auto t = make(sentencepiece_data(
      {"▁", "a", "b"}, {{run + "b", TokenType::kUserDefined}, {"aaa", TokenType::kUserDefined}}));
  Ids wanted = {259};
  wanted.insert(wanted.end(), 300'000 / 3, 263);
  EXPECT_EQ(t->encode(std::string(300'000, 'a')), wanted);
  wanted = {259, 261, 262};
  wanted.insert(wanted.end(), 20'000, 263);
  wanted.push_back(260);
  EXPECT_EQ(t->encode("b" + run + "b" + run + "a"), wanted);
  const auto byte_level =
      make(byte_level_data("gpt-2", {{"a", "a"}}, {{run + "b", TokenType::kControl}}));
  EXPECT_EQ(byte_level->encode("a" + run + "b", {.parse_special = true}), (Ids{'a', 257}));
  EXPECT_EQ(byte_level->encode(run + run, {.parse_special = true}), Ids(60'000, 256));
}

TEST(SentencePieceBpe, SpecialTokensOnlyOnDemand) {
  const auto t = make(sentencepiece_data({"▁", "a", "<", "s", ">"}));
  EXPECT_EQ(t->encode("<s>"), (Ids{259, 261, 262, 263}));
  EXPECT_EQ(t->encode("<s>a</s>a", {.parse_special = true}), (Ids{1, 259, 260, 2, 259, 260}));
  EXPECT_EQ(t->encode("<0x41>").size(), 7u);
}

TEST(SentencePieceBpe, Spaces) {
  const auto with = [](bool add_prefix, bool squeeze) {
    return make(sentencepiece_data({"▁", "a"}, {}, true,
                                   {.charsmap = {}, .add_prefix = add_prefix, .squeeze = squeeze}));
  };
  EXPECT_EQ(with(false, false)->encode(" a"), (Ids{259, 260}));
  EXPECT_EQ(with(false, true)->encode("  a  a  "), (Ids{260, 259, 260}));
  EXPECT_EQ(with(false, true)->encode("   "), Ids{});
  EXPECT_EQ(with(true, true)->encode("  a  a  "), (Ids{259, 260, 259, 260}));
  EXPECT_EQ(with(true, true)->encode("   "), Ids{});
}

// G43, G40
TEST(SentencePieceBpe, MalformedVocabulariesAreRefused) {
  for (const char* byte : {"<0x-1>", "<0xZZ>", "<0x100>", "<0xAB", "<0xab>", "<0x4>", "", "x"}) {
    EXPECT_EQ(refusal(sentencepiece_data({"a"}, {{byte, TokenType::kByte}})),
              cat("byte token 260 is '", byte, "', expected <0x00> to <0xFF>"));
  }
  EXPECT_EQ(refusal(sentencepiece_data({"a"}, {{"<0x41>", TokenType::kByte}})),
            "byte token '<0x41>' is both 68 and 260");
  EXPECT_EQ(refusal(sentencepiece_data({"a"}, {{"<0x41>", TokenType::kByte}}, false)),
            "1 byte tokens, expected 256");
  TokenizerData data = sentencepiece_data({"a"});
  data.scores[7] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(refusal(data), "score 7 is nan");
  data.scores.pop_back();
  EXPECT_EQ(refusal(data), "259 scores for 260 tokens");
  data.scores.clear();
  EXPECT_EQ(refusal(data), "sentencepiece bpe without scores");
  data.types.pop_back();
  EXPECT_EQ(refusal(data), "259 token types for 260 tokens");
}

// G41 and the bounds
TEST(Tokenizer, WhatIsUnknownOrTooLargeIsRefused) {
  TokenizerData data;
  data.file = "test.gguf";
  EXPECT_EQ(refusal(data), "no tokens");
  data = sentencepiece_data({"a"});
  data.bos = 260;
  EXPECT_EQ(refusal(data), "bos is token 260 of 260");
  data.bos = -1;
  EXPECT_EQ(refusal(data), "bos is token -1 of 260");
  EXPECT_EQ(refusal(sentencepiece_data({std::string(65'537, 'a')})),
            "token 259 has 65537 bytes, more than 65536");
  EXPECT_EQ(refusal(sentencepiece_data({std::string(513, 'a')})),
            "token 259 has 513 bytes, more than 512, and is neither control nor user-defined");
  make(sentencepiece_data({std::string(512, 'a')},
                          {{std::string(60'000, 'a'), TokenType::kUserDefined}}));
  std::vector<TestPiece> large(129, {std::string(65'536, 'a'), TokenType::kControl});
  EXPECT_EQ(
      refusal(sentencepiece_data({}, large)),
      "132 control and user-defined tokens with 8454156 bytes are more than 1000000 and 8388608");
  data = sentencepiece_data({});
  for (int i = 0; i < 4'200'000; ++i) data.tokens.add("");
  EXPECT_EQ(refusal(data), "4200259 tokens are more than 4194304");
}

TEST(Tokenizer, EqualPiecesAndEmptyPieces) {
  const auto t = make(sentencepiece_data(
      {"a", "a", "", "▁"}, {{"", TokenType::kUserDefined}, {"", TokenType::kControl}}));
  EXPECT_EQ(t->encode("a", {.parse_special = true}), (Ids{262, 259}));
  EXPECT_EQ(t->encode("", {.parse_special = true}), Ids{});
}

// T11: what would be quadratic takes hours at this size, and recursion ends in a small stack.
TEST(Tokenizer, LongTextsOnASmallStack) {
  const auto byte_level = make(byte_level_data("qwen2", {{"a", "a"},
                                                         {"aa", "aa"},
                                                         {" ", " "},
                                                         {"  ", "  "},
                                                         {"\xCC", "\x81"},
                                                         {"u", "s"},
                                                         {"\n", "\n"}}));
  const auto sentencepiece =
      make(sentencepiece_data({"▁", "a", "aa", "aaaa", "▁▁", "▁▁▁▁", "us", "u", "s"}));
  const auto character = make(char_bpe_data({"▁", "a", "u", "s"}, {{"a", "a"}, {"▁", "▁"}}));
  const auto unigram = make(unigram_data({"▁", "a", "aa", "aaaa", "▁▁", "us", "u", "s"}));
  const auto wordpiece = make(wordpiece_data({"a", "##a", "us", "##us"}));
#ifdef INGOT_SANITIZED
  constexpr std::size_t kSize = 1 << 17;
#else
  constexpr std::size_t kSize = 1 << 19;
#endif
  std::vector<std::string> texts;
  for (const char* unit :
       {"a", " ", "\n", "🦙\u200D", "\u0301", "\u0301\u0323", "us", "न\u093F", "\x80"}) {
    texts.emplace_back();
    while (texts.back().size() < kSize) texts.back() += unit;
  }
  const auto work = [&] {
    for (const std::string& text : texts) {
      for (const Tokenizer* t : {byte_level.get(), sentencepiece.get(), character.get(),
                                 unigram.get(), wordpiece.get()}) {
        const Ids ids = t->encode(text, {.parse_special = true});
        EXPECT_LE(ids.size(), text.size() + 1);
        if (const auto bound = t->text_bytes_per_token_max()) {
          EXPECT_GE(ids.size() * *bound, text.size());
        }
        detokenize(*t, ids);
      }
    }
  };
#ifdef INGOT_SANITIZED
  constexpr std::size_t kStackBytes = 8 << 20;  // sanitizers need more than the code itself
#else
  constexpr std::size_t kStackBytes = 256 << 10;
#endif
  run_on_stack_of(kStackBytes, work);
}

}  // namespace
}  // namespace ingot::testing
