// Cutting by matches: Hugging Face's documented example, empty matches, inverted roles.
#include "text/pretokenize/split.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace ingot::testing {
namespace {

using Pieces = std::vector<std::string>;
using Matches = std::vector<std::pair<std::size_t, std::size_t>>;

Pieces cut(std::string_view text, const Matches& matches, SplitBehavior behavior,
           bool invert = false) {
  Pieces pieces;
  const auto add = [&](std::string_view piece) { pieces.emplace_back(piece); };
  MatchCutter cutter(text, behavior, invert, add);
  for (const auto& [begin, end] : matches) cutter.match(begin, end);
  cutter.finish();
  return pieces;
}

TEST(Split, EveryBehaviorAsTheReferenceDocumentsIt) {
  // tokenizers' documentation of SplitDelimiterBehavior: "the-final--countdown" at "-".
  const std::string text = "the-final--countdown";
  const Matches dashes = {{3, 4}, {9, 10}, {10, 11}};
  EXPECT_EQ(cut(text, dashes, SplitBehavior::kRemoved), (Pieces{"the", "final", "countdown"}));
  EXPECT_EQ(cut(text, dashes, SplitBehavior::kIsolated),
            (Pieces{"the", "-", "final", "-", "-", "countdown"}));
  EXPECT_EQ(cut(text, dashes, SplitBehavior::kMergedWithPrevious),
            (Pieces{"the-", "final-", "-", "countdown"}));
  EXPECT_EQ(cut(text, dashes, SplitBehavior::kMergedWithNext),
            (Pieces{"the", "-final", "-", "-countdown"}));
  EXPECT_EQ(cut(text, dashes, SplitBehavior::kContiguous),
            (Pieces{"the", "-", "final", "--", "countdown"}));
}

TEST(Split, MatchesAtTheEdges) {
  const Matches dashes = {{0, 1}, {2, 3}};
  EXPECT_EQ(cut("-a-", dashes, SplitBehavior::kRemoved), (Pieces{"a"}));
  EXPECT_EQ(cut("-a-", dashes, SplitBehavior::kMergedWithPrevious), (Pieces{"-", "a-"}));
  EXPECT_EQ(cut("-a-", dashes, SplitBehavior::kMergedWithNext), (Pieces{"-a", "-"}));
  EXPECT_EQ(cut("-a-", dashes, SplitBehavior::kContiguous), (Pieces{"-", "a", "-"}));
  EXPECT_EQ(cut("ab", {}, SplitBehavior::kIsolated), (Pieces{"ab"}));
  EXPECT_EQ(cut("", {}, SplitBehavior::kIsolated), Pieces{});
}

TEST(Split, InvertedMatchesAreWhatIsKept) {
  const Matches words = {{0, 1}, {2, 3}};
  EXPECT_EQ(cut("a b", words, SplitBehavior::kRemoved, true), (Pieces{"a", "b"}));
  EXPECT_EQ(cut("a b", words, SplitBehavior::kIsolated, true), (Pieces{"a", " ", "b"}));
  EXPECT_EQ(cut("a b", words, SplitBehavior::kMergedWithPrevious, true), (Pieces{"a ", "b"}));
  // Neighbouring matches become one piece, as neighbouring delimiters would.
  EXPECT_EQ(cut("ab-", {{0, 1}, {1, 2}}, SplitBehavior::kContiguous, true), (Pieces{"ab", "-"}));
}

TEST(Split, EmptyMatchesCut) {
  EXPECT_EQ(cut("abc", {{1, 1}, {2, 2}}, SplitBehavior::kIsolated), (Pieces{"a", "b", "c"}));
  EXPECT_EQ(cut("abc", {{1, 1}}, SplitBehavior::kRemoved), (Pieces{"a", "bc"}));
  EXPECT_EQ(cut("abc", {{0, 0}, {3, 3}}, SplitBehavior::kIsolated), (Pieces{"abc"}));
}

}  // namespace
}  // namespace ingot::testing
