// Perplexity: windows and means, against numbers counted by hand.
#include "cli/perplexity_meter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace ingot {
namespace {

std::string text_of(const TextWindows& windows) {
  std::string text;
  for (std::int64_t i = 0; i < windows.count(); ++i) {
    const ScoredWindow w = windows[i];
    text += cat(w.begin, "-", w.end, ":", w.scored, " ");
  }
  return text;
}

TEST(TextWindows, StandSideBySideAndDropTheTail) {
  EXPECT_EQ(text_of({10, 4, true, 0}), "0-3:0 3-6:3 6-9:6 ");
  EXPECT_EQ(text_of({9, 4, true, 0}), "0-3:0 3-6:3 6-9:6 ");
  EXPECT_EQ(text_of({8, 4, true, 0}), "0-3:0 3-6:3 ");
  EXPECT_EQ(text_of({3, 4, true, 0}), "0-3:0 ");
}

TEST(TextWindows, WithoutABosTheFirstTokenIsNotScored) {
  EXPECT_EQ(text_of({10, 4, false, 0}), "0-4:1 4-8:5 ");
  EXPECT_EQ(text_of({10, 4, false, 4}), "0-4:1 4-8:5 ");
}

TEST(TextWindows, ThatOverlapScoreEveryTokenOnce) {
  EXPECT_EQ(text_of({10, 5, true, 2}), "0-4:0 2-6:4 4-8:6 6-10:8 ");
  EXPECT_EQ(text_of({11, 5, true, 2}), "0-4:0 2-6:4 4-8:6 6-10:8 ");
  EXPECT_EQ(text_of({8, 4, false, 3}), "0-4:1 3-7:4 ");
  EXPECT_EQ(text_of({6, 4, false, 1}), "0-4:1 1-5:4 2-6:5 ");
}

TEST(TextWindows, OfLlamaCppScoreTheSecondHalf) {
  // The logits of positions 2 and 3 of 5, or 3 and 4 of 6, score the next tokens.
  EXPECT_EQ(text_of(TextWindows::of_llama_cpp(14, 5)), "0-5:3 5-10:8 ");
  EXPECT_EQ(text_of(TextWindows::of_llama_cpp(18, 6)), "0-6:4 6-12:10 12-18:16 ");
  EXPECT_EQ(text_of(TextWindows::of_llama_cpp(6, 3)), "0-3:2 3-6:5 ");
  EXPECT_THROW(TextWindows::of_llama_cpp(9, 5), Error);
  EXPECT_THROW(TextWindows::of_llama_cpp(9, 2), Error);
}

TEST(TextWindows, SayWhatIsNotPossible) {
  const auto refused = [](std::int64_t tokens, std::int64_t context, bool bos,
                          std::int64_t stride) {
    try {
      const TextWindows windows(tokens, context, bos, stride);
      return std::string("taken");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalid);
      return error.message();
    }
  };
  EXPECT_EQ(refused(10, 1, true, 0).substr(0, 7), "--ctx 1");
  EXPECT_EQ(refused(10, 4, true, 4).substr(0, 10), "--stride 4");
  EXPECT_EQ(refused(10, 4, false, 4), "taken");
  EXPECT_EQ(refused(2, 4, true, 0),
            "the text has 2 tokens, a window takes 3: --ctx makes it shorter");
}

TEST(Perplexity, IsTheExponentialOfTheMeanCost) {
  // Four tokens of probability 1/2 and four of 1/8: the geometric mean of the costs is 4. The costs
  // lie ln 2 around their mean; their sample variance is 8 (ln 2)^2 / 7.
  Perplexity p;
  for (int i = 0; i < 4; ++i) {
    p.add(-std::log(2.0));
    p.add(-std::log(8.0));
  }
  EXPECT_EQ(p.tokens(), 8);
  EXPECT_NEAR(p.value(), 4, 1e-14);
  EXPECT_NEAR(p.standard_error(), 4 * std::log(2.0) / std::sqrt(7.0), 1e-14);
}

TEST(Perplexity, OfOneTokenHasNoError) {
  Perplexity p;
  p.add(0);
  EXPECT_EQ(p.value(), 1);
  EXPECT_TRUE(std::isnan(p.standard_error()));
}

}  // namespace
}  // namespace ingot
