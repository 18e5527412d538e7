// Sampling kernels: every kernel table against plain transcriptions of host_kernels.h, bit for bit.
#include <algorithm>
#include <array>

#include "backend/op_test_util.h"
#include "base/math.h"

namespace ingot::testing {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

/// Around the widths of lanes and spans.
const std::vector<std::int64_t>& sizes() {
  static const std::vector<std::int64_t> all{1, 2, 15, 16, 17, 255, 256, 257, 271, 512, 529, 1000};
  return all;
}

std::vector<float> random_row(std::int64_t n, Random& random) {
  std::vector<float> x(static_cast<std::size_t>(n));
  for (float& v : x) v = random.below(20) == 0 ? -kInf : 4 * random.normal();
  return x;
}

std::vector<float> tops_of(const std::vector<float>& x) {
  std::vector<float> tops(static_cast<std::size_t>(16 * spans_of(std::ssize(x))), -kInf);
  for (std::size_t i = 0; i < x.size(); ++i) {
    float& top = tops[i / kSpan * 16 + i % 16];
    top = std::max(top, x[i]);
  }
  return tops;
}

TEST(SamplingKernels, ScanFindsTheLargestOfEachColumn) {
  Random random(1);
  for (const std::int64_t n : sizes()) {
    auto x = random_row(n, random);
    for (const KernelTable* table : tested_tables()) {
      SCOPED_TRACE(cat(std::string_view(table->name), " n ", n));
      std::vector<float> tops(tops_of(x).size(), 77);
      EXPECT_EQ(table->scan(x.data(), n, tops.data()), *std::max_element(x.begin(), x.end()));
      EXPECT_EQ(tops, tops_of(x));
      for (const std::int64_t at : {std::int64_t{0}, n / 2, n - 1}) {
        auto lost = x;
        lost[static_cast<std::size_t>(at)] = std::nanf("");
        EXPECT_TRUE(std::isnan(table->scan(lost.data(), n, tops.data()))) << at;
      }
      x[static_cast<std::size_t>(n - 1)] = kInf;
      EXPECT_EQ(table->scan(x.data(), n, tops.data()), kInf);
    }
  }
}

TEST(SamplingKernels, CollectKeepsWhatReachesTheBoundInOrder) {
  Random random(2);
  for (const std::int64_t n : sizes()) {
    const auto x = random_row(n, random);
    const auto tops = tops_of(x);
    const std::vector<float> bounds{-kInf, -1e30f, -4, 0, 4, 1e30f, x[0], x.back()};
    for (const KernelTable* table : tested_tables()) {
      for (const float least : bounds) {
        SCOPED_TRACE(cat(std::string_view(table->name), " n ", n, " least ", least));
        std::vector<float> want;
        std::vector<std::int32_t> want_ids;
        for (std::size_t i = 0; i < x.size(); ++i) {
          if (x[i] < least) continue;
          want.push_back(x[i]);
          want_ids.push_back(static_cast<std::int32_t>(i));
        }
        std::vector<float> found(x.size());
        std::vector<std::int32_t> ids(x.size());
        const auto count =
            table->collect(x.data(), tops.data(), n, least, found.data(), ids.data());
        ASSERT_EQ(count, std::ssize(want));
        found.resize(want.size());
        ids.resize(want.size());
        EXPECT_EQ(found, want);
        EXPECT_EQ(ids, want_ids);
      }
    }
  }
}

TEST(SamplingKernels, WeighFollowsItsTree) {
  Random random(3);
  const float largest = 5.5f;
  const float scale = 1.25f;
  for (const std::int64_t n : sizes()) {
    const auto x = random_row(n, random);
    std::vector<float> want;
    for (const float v : x) want.push_back(math::exp((v - largest) * scale));
    std::vector<float> want_sums;
    for (std::size_t first = 0; first < x.size(); first += kSpan) {
      std::array<float, 16> lanes{};
      for (std::size_t i = first; i < std::min(x.size(), first + kSpan); ++i) {
        lanes[i % 16] += want[i];
      }
      for (std::size_t half = 8; half > 0; half /= 2) {
        for (std::size_t l = 0; l < half; ++l) lanes[l] += lanes[l + half];
      }
      want_sums.push_back(lanes[0]);
    }
    for (const KernelTable* table : tested_tables()) {
      SCOPED_TRACE(cat(std::string_view(table->name), " n ", n));
      std::vector<float> weights(x.size());
      std::vector<float> sums(want_sums.size());
      table->weigh(x.data(), n, largest, scale, weights.data(), sums.data());
      EXPECT_EQ(weights, want);
      EXPECT_EQ(sums, want_sums);
      std::vector<float> alone(sums.size());
      table->weigh(x.data(), n, largest, scale, nullptr, alone.data());
      EXPECT_EQ(alone, want_sums);
      table->weigh(x.data(), n, largest, scale, weights.data(), nullptr);
      EXPECT_EQ(weights, want);
    }
  }
}

TEST(SamplingKernels, ArgmaxOfLongRows) {
  Random random(4);
  for (const KernelTable* table : tested_tables()) {
    SCOPED_TRACE(table->name);
    for (int run = 0; run < 300; ++run) {
      const std::int64_t n = 1 + random.below(1500);
      std::vector<float> x(static_cast<std::size_t>(n));
      for (float& v : x) v = static_cast<float>(random.below(run % 50 + 1));
      const auto best = std::max_element(x.begin(), x.end()) - x.begin();
      ASSERT_EQ(table->argmax(x.data(), n), best) << "run " << run << " n " << n;
      x[static_cast<std::size_t>(random.below(n))] = std::nanf("");
      ASSERT_EQ(table->argmax(x.data(), n), -1) << "run " << run << " n " << n;
    }
    const std::vector<float> none(600, -kInf);
    EXPECT_EQ(table->argmax(none.data(), 600), 0);
    EXPECT_EQ(table->argmax(none.data(), 0), -1);
  }
}

}  // namespace
}  // namespace ingot::testing
