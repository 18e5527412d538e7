// Unigram against all segmentations of short texts; ties, unknown characters, hostile scores (T10).
#include "text/tokenizer/unigram.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "quant/test_data.h"

namespace ingot::testing {
namespace {

using Ids = std::vector<std::int32_t>;

struct Piece {
  std::string text;
  double score = 0;
  TokenType type = TokenType::kNormal;
};

Unigram make(const std::vector<Piece>& pieces, const Unigram::Settings& settings) {
  StringTable table;
  std::vector<double> scores;
  std::vector<TokenType> types;
  for (const Piece& p : pieces) {
    table.add(p.text);
    scores.push_back(p.score);
    types.push_back(p.type);
  }
  return {table, scores, types, settings, "test"};
}

Ids encode(const Unigram& unigram, std::string_view text) {
  Ids ids;
  ModelScratch scratch;
  unigram.encode(text, scratch, ids);
  return ids;
}

std::string refusal(const std::vector<Piece>& pieces, const Unigram::Settings& settings) {
  try {
    make(pieces, settings);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kModel);
    return e.message();
  }
  return "";
}

TEST(Unigram, TakesTheBestSum) {
  const Unigram unigram = make({{"<unk>", 0, TokenType::kUnknown},
                                {"a", -1},
                                {"b", -1},
                                {"ab", -1.5},
                                {"c", -2},
                                {"bc", -0.5}},
                               {.unknown = 0});
  EXPECT_EQ(encode(unigram, ""), Ids{});
  EXPECT_EQ(encode(unigram, "ab"), (Ids{3}));
  EXPECT_EQ(encode(unigram, "abc"), (Ids{1, 5}));  // -1.5, against -3.5 of "ab", "c"
  EXPECT_EQ(encode(unigram, "cab"), (Ids{4, 3}));
}

TEST(Unigram, OfEqualSumsTheFirstReachedStays) {
  // The end of "aa" is reached from its beginning before it is from its middle, that of "aaa" from
  // behind the first "a" before it is from behind the second.
  const Unigram unigram =
      make({{"<unk>", 0, TokenType::kUnknown}, {"a", -1}, {"aa", -2}}, {.unknown = 0});
  EXPECT_EQ(encode(unigram, "aa"), (Ids{2}));
  EXPECT_EQ(encode(unigram, "aaa"), (Ids{1, 2}));
}

TEST(Unigram, UnknownCharactersAreOneTokenOrTheirBytes) {
  const std::vector<Piece> pieces = {
      {"<unk>", 0, TokenType::kUnknown}, {"a", -1}, {"\u00E9\u00E9", -1}};
  const Unigram fused = make(pieces, {.unknown = 0});
  EXPECT_EQ(encode(fused, "xya\u4E2Dz"), (Ids{0, 1, 0}));
  EXPECT_EQ(encode(fused, "\u00E9"), (Ids{0}));
  EXPECT_EQ(encode(fused, "\u00E9\u00E9\u00E9"), (Ids{0, 2}));
  EXPECT_EQ(encode(fused, "\xC3\xC3\x80"), (Ids{0}));
  std::array<std::int32_t, 256> byte_ids;
  for (int b = 0; b < 256; ++b) byte_ids[static_cast<std::size_t>(b)] = 1000 + b;
  const Unigram bytes = make(pieces, {.unknown = 0, .byte_ids = byte_ids});
  EXPECT_EQ(encode(bytes, "a\u00E9!"), (Ids{1, 1000 + 0xC3, 1000 + 0xA9, 1000 + '!'}));
  EXPECT_EQ(encode(bytes, "\xFF"), (Ids{1000 + 0xFF}));
}

TEST(Unigram, TypesDecideWhoTakesPart) {
  const Unigram unigram = make({{"<unk>", 0, TokenType::kUnknown},
                                {"a", -1},
                                {"b", -1},
                                {"ab", -0.1},
                                {"aba", 0, TokenType::kUserDefined},
                                {"bb", 0, TokenType::kUnused},
                                {"</s>", 0, TokenType::kControl}},
                               {.unknown = 0});
  EXPECT_EQ(encode(unigram, "aba"), (Ids{4}));
  EXPECT_EQ(encode(unigram, "bb"), (Ids{2, 2}));
  EXPECT_EQ(encode(unigram, "</s>"), (Ids{0}));
}

/// The best segmentation by trying all: the last piece first, so that of equal sums the one whose
/// last piece begins first wins, as walking forwards has it.
double best_sum(const std::map<std::string, double>& pieces, double unknown,
                std::string_view text) {
  std::vector<double> best(text.size() + 1, -std::numeric_limits<double>::infinity());
  best[0] = 0;
  for (std::size_t end = 1; end <= text.size(); ++end) {
    for (std::size_t begin = 0; begin < end; ++begin) {
      const auto piece = pieces.find(std::string(text.substr(begin, end - begin)));
      double score =
          piece == pieces.end() ? -std::numeric_limits<double>::infinity() : piece->second;
      if (piece == pieces.end() && end == begin + 1) score = unknown;
      best[end] = std::max(best[end], best[begin] + score);
    }
  }
  return best.back();
}

TEST(Unigram, IsTheBestOfAllSegmentations) {
  Random random(9);
  for (int round = 0; round < 100; ++round) {
    std::map<std::string, double> scores;
    std::vector<Piece> pieces = {{"<unk>", 0, TokenType::kUnknown}};
    double least = 0;
    for (int i = 0; i < 25; ++i) {
      std::string text(1 + random.next() % 4, ' ');
      for (char& c : text) c = static_cast<char>('a' + random.next() % 3);
      const double score = -static_cast<double>(random.next() % 64) / 8;
      if (!scores.try_emplace(text, score).second) continue;
      pieces.push_back({text, score});
      least = std::min(least, score);
    }
    const Unigram unigram = make(pieces, {.unknown = 0});
    for (int i = 0; i < 20; ++i) {
      std::string text(1 + random.next() % 12, ' ');
      for (char& c : text) c = static_cast<char>('a' + random.next() % 3);
      const Ids ids = encode(unigram, text);
      // Unknown characters are fused: their number is what the pieces leave over.
      double sum = 0;
      std::size_t bytes = 0;
      for (const std::int32_t id : ids) {
        if (id == 0) continue;
        sum += pieces[static_cast<std::size_t>(id)].score;
        bytes += pieces[static_cast<std::size_t>(id)].text.size();
      }
      sum += static_cast<double>(text.size() - bytes) * (least - 10);
      ASSERT_EQ(sum, best_sum(scores, least - 10, text)) << text;
    }
  }
}

TEST(Unigram, HostileVocabulariesAreRefused) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  for (const double score : {nan, -inf, inf, 1e300, -1e300}) {
    EXPECT_NE(refusal({{"a", score}}, {.unknown = 0}).find("score 0 is"), std::string::npos);
  }
  for (const std::int32_t unknown : {-1, 1, std::numeric_limits<std::int32_t>::max()}) {
    EXPECT_NE(refusal({{"a", 0}}, {.unknown = unknown}).find("unknown is token"),
              std::string::npos);
  }
  EXPECT_NE(refusal({{"a", 0}}, {}).find("neither"), std::string::npos);
  const std::string longest(kUnigramPieceBytesMax, 'a');
  EXPECT_EQ(refusal({{longest, 0}}, {.unknown = 0}), "");
  EXPECT_NE(refusal({{longest + "a", 0}}, {.unknown = 0}).find("more than 512"), std::string::npos);
  StringTable two;
  two.add("a");
  two.add("b");
  const std::vector<double> one = {0};
  EXPECT_THROW(Unigram(two, one, {}, {.unknown = 0}, "test"), Error);
  EXPECT_EQ(encode(make({{"a", 0, TokenType::kControl}}, {.unknown = 0}), "a"), (Ids{0}));
}

TEST(Unigram, LongTexts) {
  const Unigram unigram = make(
      {{"<unk>", 0, TokenType::kUnknown}, {"a", -1}, {std::string(64, 'a'), -2}}, {.unknown = 0});
  EXPECT_EQ(encode(unigram, std::string(64'000, 'a')).size(), 1000U);
}

}  // namespace
}  // namespace ingot::testing
