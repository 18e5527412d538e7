// Digest: the published XXH64 of the bytes, equal for all NaNs.
#include "runtime/sampling/digest.h"

#include <gtest/gtest.h>

#include <bit>
#include <vector>

namespace ingot {
namespace {

TEST(Digest, OfNothingIsThePublishedValueOfXxh64) {
  EXPECT_EQ(Digest().text(), "ef46db3751d8e999");
}

TEST(Digest, DependsOnOrderAndSignOfZero) {
  const std::vector<float> a{1, 2}, b{2, 1}, c{0}, d{-0.0f};
  Digest da, db, dc, dd;
  da.add(a);
  db.add(b);
  dc.add(c);
  dd.add(d);
  EXPECT_NE(da.value(), db.value());
  EXPECT_NE(dc.value(), dd.value());
}

TEST(Digest, RowsCountAsOneStream) {
  const std::vector<float> both{1, 2}, first{1}, second{2};
  Digest whole, parts;
  whole.add(both);
  parts.add(first);
  parts.add(second);
  EXPECT_EQ(whole.text(), parts.text());
}

TEST(Digest, EveryNanIsTheSame) {
  const std::vector<float> quiet{std::bit_cast<float>(0x7fc00000u)};
  const std::vector<float> other{std::bit_cast<float>(0xffc12345u)};
  Digest a, b;
  a.add(quiet);
  b.add(other);
  EXPECT_EQ(a.value(), b.value());
}

}  // namespace
}  // namespace ingot
