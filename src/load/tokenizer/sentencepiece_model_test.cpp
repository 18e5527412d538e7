// SentencePiece models: fields, defaults, what is refused, and every truncation.
#include "load/tokenizer/sentencepiece_model.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "load/hf/hf_test_util.h"
#include "load/tokenizer/tokenizer_files_test_util.h"

namespace ingot {
namespace {

using namespace testing;
using testing_hf::bytes_of;
using testing_hf::expect_refused;

constexpr std::uint64_t kUnigram = 1;
constexpr std::uint64_t kBpe = 2;

TokenizerData read(std::string_view bytes) {
  return read_sentencepiece_model(bytes_of(bytes), "m.model");
}

TEST(SentencePieceModel, Bpe) {
  const TokenizerData data = read(sentencepiece_model(kBpe));
  EXPECT_EQ(data.model, TokenizerModel::kSentencePieceBpe);
  ASSERT_EQ(data.tokens.size(), 8u);
  EXPECT_EQ(data.tokens[6], "ab");
  EXPECT_EQ(data.scores[6], -0.5);
  EXPECT_EQ(data.types[7], TokenType::kUserDefined);
  EXPECT_EQ(data.unknown, 0);
  EXPECT_EQ(data.bos, 1);
  EXPECT_EQ(data.eos, 2);
  EXPECT_FALSE(data.padding);
  EXPECT_EQ(data.frame_begin, std::vector<std::int32_t>{1});
  EXPECT_TRUE(data.frame_end.empty() && !data.byte_fallback && data.space_marks);
  ASSERT_EQ(data.normalizers.size(), 1u);
  EXPECT_TRUE(data.normalizers[0].add_prefix && data.normalizers[0].squeeze) << "the defaults";
  ASSERT_EQ(data.added.size(), 4u);
  EXPECT_TRUE(data.added[0].special && data.added[3].always);
}

TEST(SentencePieceModel, Unigram) {
  const std::string normalizer =
      proto_bytes(2, "map") + proto_number(3, 0) + proto_number(4, 0) + proto_number(5, 1);
  const TokenizerData data = read(sentencepiece_model(kUnigram, normalizer));
  EXPECT_EQ(data.model, TokenizerModel::kUnigram);
  ASSERT_EQ(data.normalizers.size(), 2u);
  EXPECT_EQ(data.normalizers[0].kind, NormalizerStep::Kind::kPrecompiled);
  EXPECT_EQ(data.normalizers[0].content, "map");
  EXPECT_FALSE(data.normalizers[1].add_prefix || data.normalizers[1].squeeze);
  EXPECT_EQ(data.frame_end, std::vector<std::int32_t>{2});
}

TEST(SentencePieceModel, FieldsThatNobodyKnowsArePassedOver) {
  const std::string more = proto_number(99, 5) + proto_bytes(100, "abc") + proto_float(101, 1);
  EXPECT_EQ(read(sentencepiece_model(kBpe) + more).tokens.size(), 8u);
}

TEST(SentencePieceModel, WhatIsNotSupportedIsRefused) {
  const std::string model = sentencepiece_model(kBpe);
  const auto trainer = [](std::uint64_t field, std::uint64_t value) {
    return proto_bytes(2, proto_number(field, value));
  };
  expect_refused([&] { read(sentencepiece_model(3)); }, "model_type is 3, supported are 1");
  expect_refused([&] { read(model + trainer(24, 1)); }, "treat_whitespace_as_suffix");
  expect_refused([&] { read(model + trainer(41, 8)); }, "bos_id is 8, there are 8 pieces");
  expect_refused([&] { read(model + proto_bytes(3, proto_number(5, 0))); }, "escape_whitespaces");
  expect_refused([&] { read(model + proto_bytes(5, proto_bytes(2, "x"))); }, "a denormalizer");
  expect_refused([&] { read(model + proto_piece("?", 0, 2)); }, "pieces 0 and 8 are both unknown");
  expect_refused([&] { read(model + proto_piece("?", 0, 7)); }, "piece 8 has the type 7");
  expect_refused(
      [&] { read(model + proto_piece("?", std::numeric_limits<float>::quiet_NaN(), 1)); },
      "piece 8 has the score nan");
  expect_refused([&] { read(proto_bytes(2, "")); }, "there are no pieces");
  expect_refused([&] { read(proto_piece("a", 0, 1)); }, "there is no unknown piece");
  expect_refused([&] { read(model + proto_number(1, 5)); }, "field 1 is no message");
  expect_refused([&] { read(model + std::string("\x0B", 1)); }, "has the wire type 3");
  expect_refused([&] { read(model + "\x0A" + std::string(10, '\xFF') + "\x01"); },
                 "a number has more than 10 bytes");
  EXPECT_EQ(read(model + trainer(41, ~std::uint64_t{0})).bos, std::nullopt) << "-1 is none";
}

TEST(SentencePieceModel, EveryTruncation) {
  const std::string model = sentencepiece_model(kBpe, proto_bytes(2, "map"));
  int refused = 0;
  for (std::size_t size = 0; size < model.size(); ++size) {
    if (!testing_hf::refusal([&] { read(model.substr(0, size)); }).empty()) ++refused;
  }
  EXPECT_GT(refused, 100);
}

TEST(SentencePieceModel, RecognisedByItsFirstPiece) {
  EXPECT_TRUE(is_sentencepiece_model(sentencepiece_model(kBpe)));
  for (const char* text : {"", "\n\n\n\n\n\n\n\n\n", "[PAD]\n[unused]\n", "{\"a\": 1}   "}) {
    EXPECT_FALSE(is_sentencepiece_model(text)) << text;
  }
}

}  // namespace
}  // namespace ingot
