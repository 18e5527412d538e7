// find_cut against a stable sort: random keys with ties, weights whose sums are exact.
#include "runtime/sampling/cut.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "base/full_run_test_util.h"

namespace ingot {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

/// The places of the shortest beginning that reaches the target, sorted.
std::vector<std::int64_t> kept_by_sorting(const std::vector<float>& keys,
                                          const std::vector<float>& weights, double target) {
  std::vector<std::int64_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return keys[static_cast<std::size_t>(a)] > keys[static_cast<std::size_t>(b)];
  });
  double sum = 0;
  std::size_t count = 0;
  do {
    sum += weights.empty() ? 1 : double{weights[static_cast<std::size_t>(order[count])]};
  } while (++count < order.size() && sum < target);
  order.resize(count);
  std::sort(order.begin(), order.end());
  return order;
}

std::vector<std::int64_t> kept(const std::vector<float>& keys, const std::vector<float>& weights,
                               double target) {
  std::vector<std::int32_t> places(keys.size());
  const Cut cut = find_cut(keys, weights, target, places);
  std::vector<std::int64_t> all;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto place = static_cast<std::int64_t>(i);
    if (cut.keeps(keys[i], place)) all.push_back(place);
  }
  return all;
}

/// Keys of many shapes: spread, crowded, few values, over many orders of magnitude.
float random_key(int shape, std::mt19937& random) {
  const float u = static_cast<float>(random() >> 8) * 0x1p-24f - 0.5f;
  switch (shape) {
    case 0:
      return 30 * u;
    case 1:
      return 1000 + 0x1p-10f * u;
    case 2:
      return static_cast<float>(static_cast<int>(random() % 7) - 3) * (u < 0 ? -1 : 1);
    case 3:
      return std::ldexp(u, static_cast<int>(random() % 200) - 100);
    case 4:
      return random() % 5 == 0 ? -kInf : u;
    default:
      return u < 0 ? -0.0f : 0.0f;
  }
}

TEST(FindCut, AgreesWithASort) {
  std::mt19937 random(7);
  const int runs = random_runs(3'000, 50'000);
  for (int run = 0; run < runs; ++run) {
    const auto n = 1 + random() % (run % 10 == 0 ? 3000 : 100);
    std::vector<float> keys(n);
    for (float& key : keys) key = random_key(run % 6, random);
    std::vector<float> weights(run % 3 == 0 ? 0 : n);
    for (float& w : weights) w = static_cast<float>(1 + random() % 1024) * 0x1p-10f;
    const double total =
        weights.empty() ? double(n) : std::accumulate(weights.begin(), weights.end(), 0.0);
    const double target = total * static_cast<double>(random() % 1025) * 0x1p-10;
    ASSERT_EQ(kept(keys, weights, target), kept_by_sorting(keys, weights, target))
        << "run " << run << ", " << n << " keys, target " << target << " of " << total;
  }
}

TEST(FindCut, ATargetOutOfReachKeepsAll) {
  const std::vector<float> few(5, 1.0f);
  const std::vector<float> many(100, 1.0f);
  EXPECT_EQ(kept(few, few, 6).size(), 5u);
  EXPECT_EQ(kept(many, many, 101).size(), 100u);
}

TEST(FindCut, ATargetOfZeroKeepsTheBest) {
  std::vector<float> keys(100, 1.0f);
  keys[40] = keys[60] = 2;
  EXPECT_EQ(kept(keys, {}, 0), std::vector<std::int64_t>{40});
  EXPECT_EQ(kept(keys, keys, 0), std::vector<std::int64_t>{40});
}

}  // namespace
}  // namespace ingot
