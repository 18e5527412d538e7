// Random rows and parameters: the partial selection against a full sort in double, and draws
// against the keys of all tokens.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/full_run_test_util.h"
#include "base/philox.h"
#include "base/text.h"
#include "runtime/sampling/sampler_test_util.h"

namespace ingot::testing {
namespace {

/// A kept set, and how far the closest decision was from going the other way.
struct Judged {
  std::vector<std::size_t> order;  ///< the kept tokens, best first
  std::vector<double> p;           ///< by id
  double margin = 1;
};

/// Gives the kept tokens' probabilities a sum of 1, the others 0.
void renormalise(Judged& j) {
  std::vector<double> p(j.p.size(), 0.0);
  double sum = 0;
  for (const std::size_t id : j.order) sum += j.p[id];
  for (const std::size_t id : j.order) p[id] = j.p[id] / sum;
  j.p = p;
}

/// Keeps the shortest beginning of `ranked` that reaches `target`.
void keep_until(Judged& j, std::vector<std::size_t> ranked, double target) {
  double sum = 0;
  std::size_t count = 0;
  do {
    sum += j.p[ranked[count]];
    j.margin = std::min(j.margin, std::abs(sum - target));
  } while (++count < ranked.size() && sum < target);
  ranked.resize(count);
  std::erase_if(j.order, [&](std::size_t id) {
    return std::find(ranked.begin(), ranked.end(), id) == ranked.end();
  });
  renormalise(j);
}

void keep_typical(Judged& j, const std::vector<float>& logits, double typical_p) {
  double entropy = 0;
  for (const std::size_t id : j.order) {
    if (j.p[id] > 0) entropy -= j.p[id] * std::log(j.p[id]);
  }
  const auto distance = [&](std::size_t id) { return std::abs(-std::log(j.p[id]) - entropy); };
  auto ranked = j.order;
  std::sort(ranked.begin(), ranked.end());
  std::stable_sort(ranked.begin(), ranked.end(),
                   [&](std::size_t a, std::size_t b) { return distance(a) < distance(b); });
  for (std::size_t i = 1; i < ranked.size(); ++i) {
    // Neighbours that rounding may swap; equal logits are equally far in any arithmetic.
    if (logits[ranked[i]] == logits[ranked[i - 1]] || !(j.p[ranked[i]] > 1e-20)) continue;
    j.margin = std::min(j.margin, distance(ranked[i]) - distance(ranked[i - 1]));
  }
  keep_until(j, ranked, typical_p);
}

void keep_near(Judged& j, const std::vector<float>& logits, double sigmas) {
  double mean = 0;
  double variance = 0;
  const auto n = static_cast<double>(j.order.size());
  for (const std::size_t id : j.order) mean += double{logits[id]} / n;
  for (const std::size_t id : j.order) variance += std::pow(double{logits[id]} - mean, 2) / n;
  const double least = double{logits[j.order[0]]} - sigmas * std::sqrt(variance);
  for (const std::size_t id : j.order) {
    if (logits[id] != logits[j.order[0]]) {
      j.margin = std::min(j.margin, std::abs(double{logits[id]} - least));
    }
  }
  std::erase_if(j.order, [&](std::size_t id) {
    return double{logits[id]} < least && logits[id] != logits[j.order[0]];
  });
}

void keep_expected(Judged& j, double surprise_max) {
  const std::size_t best = j.order[0];
  for (const std::size_t id : j.order) {
    if (j.p[id] > 0) j.margin = std::min(j.margin, std::abs(-std::log2(j.p[id]) - surprise_max));
  }
  const double least = std::min(std::exp2(-surprise_max), j.p[best]);
  std::erase_if(j.order, [&](std::size_t id) { return j.p[id] < least; });
  renormalise(j);
}

/// `order` has equal tokens by id, so the last of the likely tokens is the one that stays.
void drop_top(Judged& j, double threshold) {
  for (const std::size_t id : j.order) j.margin = std::min(j.margin, std::abs(j.p[id] - threshold));
  const auto end = std::find_if(j.order.begin(), j.order.end(),
                                [&](std::size_t id) { return j.p[id] < threshold; });
  if (end - j.order.begin() < 2 || threshold > 0.5) return;
  j.order.erase(j.order.begin(), end - 1);
  renormalise(j);
}

/// The goldens' definitions from top_k on, over unchanged logits.
Judged judge(const std::vector<float>& logits, const SamplingParams& params, double surprise_max) {
  Judged j;
  const double largest = double{*std::max_element(logits.begin(), logits.end())};
  for (const float x : logits) {
    j.p.push_back(std::exp((double{x} - largest) / double{params.temperature}));
  }
  for (std::size_t id = 0; id < logits.size(); ++id) {
    if (logits[id] > -kInf) j.order.push_back(id);
  }
  std::stable_sort(j.order.begin(), j.order.end(),
                   [&](std::size_t a, std::size_t b) { return logits[a] > logits[b]; });
  if (params.top_n_sigma > 0) keep_near(j, logits, double{params.top_n_sigma});
  if (params.top_k > 0 && j.order.size() > static_cast<std::size_t>(params.top_k)) {
    j.order.resize(static_cast<std::size_t>(params.top_k));
  }
  renormalise(j);
  if (params.typical_p < 1) keep_typical(j, logits, double{params.typical_p});
  if (params.top_p < 1) keep_until(j, j.order, double{params.top_p});
  if (params.min_p > 0) {
    const double least = double{params.min_p} * j.p[j.order[0]];
    for (const std::size_t id : j.order) {
      if (id == j.order[0] || logits[id] == logits[j.order[0]]) continue;
      j.margin = std::min(j.margin, std::abs(j.p[id] / least - 1));
    }
    std::erase_if(j.order, [&](std::size_t id) { return j.p[id] < least; });
    renormalise(j);
  }
  if (params.mirostat != 0) keep_expected(j, surprise_max);
  if (params.xtc_probability == 1) drop_top(j, double{params.xtc_threshold});
  return j;
}

/// Continuous, or with many equal values, or with tokens that are ruled out.
std::vector<float> random_logits(std::mt19937_64& random) {
  const std::int64_t n = 1 + static_cast<std::int64_t>(random() % (random() % 8 == 0 ? 5000 : 300));
  const float deviation = static_cast<float>(1 + random() % 60) * 0.1f;
  auto x = normal_logits(n, deviation, random());
  const auto shape = random() % 4;
  for (float& v : x) {
    if (shape == 1) v = std::round(v * 2) / 2;
    if (shape == 2 && random() % 3 == 0) v = -kInf;
  }
  x[random() % x.size()] = 2 * deviation;
  return x;
}

SamplingParams random_params(std::mt19937_64& random) {
  const auto percent = [&](unsigned least) {
    return static_cast<float>(least + random() % (100 - least)) / 100;
  };
  SamplingParams p{.temperature = static_cast<float>(1 + random() % 30) * 0.1f};
  if (random() % 3 == 0) {
    p.top_k = static_cast<std::int32_t>(1 + random() % (random() % 2 == 0 ? 20 : 1000));
  }
  if (random() % 4 == 0) p.typical_p = percent(1);
  if (random() % 2 == 0) p.top_p = percent(0);
  if (random() % 3 == 0) p.min_p = percent(0) * percent(0);
  if (random() % 4 == 0) p.top_n_sigma = percent(1) * 3;
  if (random() % 4 == 0) p.mirostat = 2;
  if (random() % 4 == 0) {
    p.xtc_probability = 1;
    p.xtc_threshold = percent(1) * percent(1);
  }
  return p;
}

/// -log of a uniform number, as the comment of DrawNoise defines E.
double exponential(const SamplingParams& p, std::uint64_t index, std::uint32_t c,
                   std::uint32_t* third) {
  const auto words = philox4x32(
      {static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32), p.choice, c},
      {static_cast<std::uint32_t>(p.seed), static_cast<std::uint32_t>(p.seed >> 32)});
  if (third != nullptr) *third = words[2];
  const std::uint64_t bits = std::uint64_t{words[0]} * 0x100000 + words[1] / 0x1000;
  return -std::log((static_cast<double>(bits) + 0.5) / 0x1p52);
}

/// The token with the largest key among tokens, computed for each of them.
std::int32_t largest_key(const TestRow& row, const std::vector<TokenProbability>& tokens) {
  const float scale = std::min(1 / row.params.temperature, std::numeric_limits<float>::max());
  const float largest = *std::max_element(row.logits.begin(), row.logits.end());
  std::map<double, std::int32_t> keys;
  for (const auto& [id, p] : tokens) {
    const auto i = static_cast<std::uint32_t>(id);
    std::uint32_t third = 0;
    double x = exponential(row.params, row.index, 0x40000000 + i / 256, &third) / 256;
    if (third / 0x1000000 != i % 256) {
      x += exponential(row.params, row.index, 0x80000000 + i, nullptr);
    }
    keys[(double{row.logits[i]} - double{largest}) * double{scale} - std::log(x)] = id;
  }
  return keys.rbegin()->second;
}

TEST(SamplerRandom, DrawsTheTokenWithTheLargestKey) {
  const int runs = random_runs(1'000, 20'000, 100);
  for (int seed = 0; seed < runs; ++seed) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed) + 1'000'000);
    TestRow row{.logits = random_logits(random)};
    if (seed % 50 == 0) row.logits = normal_logits(40'000, 2, random());
    if (seed % 3 != 0) row.params = random_params(random);
    if (seed % 3 == 0) row.params.temperature = 1;
    if (seed % 10 == 0)
      row.params.temperature = std::pow(10.0f, static_cast<float>(random() % 60) - 30);
    row.surprise_max = static_cast<double>(random() % 1200) / 100;
    row.params.seed = random();
    row.params.choice = static_cast<std::uint32_t>(random() % 3);
    row.index = random() >> random() % 64;
    const std::int32_t want = largest_key(row, distribution(row));
    for (const HostKernels* kernels : host_kernels()) {
      ASSERT_EQ(draw(row, *kernels).id, want)
          << "seed " << seed << ", V " << row.vocab() << ", " << kernels->name;
    }
  }
}

TEST(SamplerRandom, KeepsWhatAFullSortInDoubleKeeps) {
  const int runs = random_runs(3'000, 50'000, 300);
  int judged = 0;
  for (int seed = 0; seed < runs; ++seed) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    TestRow row{.logits = random_logits(random)};
    row.params = random_params(random);
    row.surprise_max = static_cast<double>(random() % 1200) / 100;
    const Judged want = judge(row.logits, row.params, row.surprise_max);
    if (want.margin < 1e-5) continue;  // hangs on rounding
    ++judged;
    SCOPED_TRACE(cat("seed ", seed, ", V ", row.vocab()));
    std::map<std::size_t, double> got;
    for (const auto& [id, p] : distribution(row)) got[static_cast<std::size_t>(id)] = p;
    for (std::size_t id = 0; id < row.logits.size(); ++id) {
      const double p = got.contains(id) ? got[id] : 0;
      if (std::max(p, want.p[id]) < 1e-30) continue;
      ASSERT_NEAR(p, want.p[id], 1e-4 * want.p[id]) << "token " << id;
    }
  }
  EXPECT_GT(judged, runs / 2);
}

}  // namespace
}  // namespace ingot::testing
