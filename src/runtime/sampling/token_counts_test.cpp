// TokenCounts: order, and what counts for which penalty.
#include "runtime/sampling/token_counts.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ingot {
namespace {

TEST(TokenCounts, EachIdOnceInOrderOfFirstOccurrence) {
  TokenCounts counts;
  EXPECT_TRUE(counts.counts().empty());
  for (const int id : {7, 3, 7}) counts.add_prompt(id);
  for (const int id : {9, 3, 9, 9}) counts.add_generated(id);
  const std::vector<TokenCounts::Count> want{{7, 0}, {3, 1}, {9, 3}};
  EXPECT_TRUE(std::ranges::equal(counts.counts(), want));
}

}  // namespace
}  // namespace ingot
