// Traffic that is made up: arrivals by their distribution, tokens by what they are a function of.
#include "bench/traffic/traffic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace ingot {
namespace {

constexpr std::int64_t kMany = 4097;  // 4096 gaps: a mean is off by 1/64 of the deviation

std::vector<double> gaps(double rate, double burstiness, std::uint64_t seed = 1) {
  const Traffic traffic =
      synthetic_traffic({.requests = kMany, .rate = rate, .burstiness = burstiness, .seed = seed});
  std::vector<double> found;
  for (std::size_t i = 1; i < traffic.requests.size(); ++i) {
    found.push_back(traffic.requests[i].arrival - traffic.requests[i - 1].arrival);
  }
  EXPECT_EQ(traffic.requests.front().arrival, 0);
  return found;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double deviation(const std::vector<double>& values) {
  double squares = 0;
  for (const double v : values) squares += (v - mean(values)) * (v - mean(values));
  return std::sqrt(squares / static_cast<double>(values.size()));
}

TEST(Arrivals, OfAPoissonProcessHaveExponentialGaps) {
  const std::vector<double> found = gaps(4, 1);
  // The deviation equals the mean: five standard errors are 5/64 of it.
  EXPECT_NEAR(mean(found), 0.25, 0.25 * 5 / 64);
  const auto share_above = [&](double times) {
    const auto above = [&](double gap) { return gap > 0.25 * times; };
    return static_cast<double>(std::count_if(found.begin(), found.end(), above)) / 4096;
  };
  for (const double times : {0.1, 0.5, 1.0, 2.0, 4.0}) {
    const double p = std::exp(-times);
    EXPECT_NEAR(share_above(times), p, 5 * std::sqrt(p * (1 - p)) / 64) << times;
  }
}

TEST(Arrivals, AreAsBurstyAsTheShapeSays) {
  for (const double shape : {0.25, 0.9, 2.0, 16.0}) {
    const std::vector<double> found = gaps(10, shape);
    const double expected = 0.1 / std::sqrt(shape);
    EXPECT_NEAR(mean(found), 0.1, expected * 5 / 64) << shape;
    // The error of a deviation: sqrt((kurtosis - 1) / 4n), with 3 + 6 / shape the kurtosis.
    EXPECT_NEAR(deviation(found) / expected, 1, 5 * std::sqrt((2 + 6 / shape) / 4) / 64) << shape;
    EXPECT_GE(*std::min_element(found.begin(), found.end()), 0);
  }
}

TEST(Arrivals, AreAFunctionOfTheSeed) {
  EXPECT_EQ(gaps(3, 1, 5), gaps(3, 1, 5));
  EXPECT_NE(gaps(3, 1, 5), gaps(3, 1, 6));
  EXPECT_NE(gaps(3, 1, 5), gaps(3, 1, 5 + (std::uint64_t{1} << 32)));
}

TEST(Arrivals, OfAnInfiniteRateAreAllAtOnce) {
  for (const PlannedRequest& r : synthetic_traffic({.requests = 9}).requests) {
    EXPECT_EQ(r.arrival, 0);
  }
}

TEST(Lengths, AreAllOfARange) {
  const Traffic traffic = synthetic_traffic(
      {.requests = 600, .input = {3, 7}, .output = {1, 2}, .shared_prefix = 10, .seed = 4});
  std::set<std::int64_t> inputs, outputs;
  for (const PlannedRequest& r : traffic.requests) {
    inputs.insert(r.prompt_tokens);
    outputs.insert(r.output_tokens);
  }
  EXPECT_EQ(inputs, (std::set<std::int64_t>{13, 14, 15, 16, 17})) << "the prefix comes in front";
  EXPECT_EQ(outputs, (std::set<std::int64_t>{1, 2}));
}

Traffic one(std::int64_t prompt, std::int64_t output) {
  return {.requests = {{.prompt_tokens = prompt, .output_tokens = output}}};
}

TEST(Cutting, LeavesRoomForTheOutput) {
  const auto cut = [](std::int64_t prompt, std::int64_t output) {
    Traffic traffic = one(prompt, output);
    const CutLengths lengths = cut_to_context(traffic, 100);
    const PlannedRequest& r = traffic.requests.front();
    EXPECT_EQ(longest_request(traffic), r.prompt_tokens + r.output_tokens);
    return std::vector<std::int64_t>{r.prompt_tokens, r.output_tokens, lengths.prompts,
                                     lengths.outputs};
  };
  using Row = std::vector<std::int64_t>;
  EXPECT_EQ(cut(60, 40), (Row{60, 40, 0, 0}));
  EXPECT_EQ(cut(60, 41), (Row{59, 41, 1, 0}));
  EXPECT_EQ(cut(500, 30), (Row{70, 30, 1, 0}));
  EXPECT_EQ(cut(10, 500), (Row{10, 90, 0, 1}));
  EXPECT_EQ(cut(500, 500), (Row{50, 50, 1, 1}));
}

TEST(Cutting, TheSmallestContextHasRoomForTwo) {
  Traffic traffic = one(9, 9);
  cut_to_context(traffic, 2);
  EXPECT_EQ(traffic.requests.front().prompt_tokens, 1);
  EXPECT_EQ(traffic.requests.front().output_tokens, 1);
}

std::vector<std::int32_t> ids_to(std::int32_t n) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(n));
  std::iota(ids.begin(), ids.end(), 100);
  return ids;
}

std::size_t common_prefix(const Request& a, const Request& b) {
  const auto at = std::mismatch(a.prompt.begin(), a.prompt.end(), b.prompt.begin(), b.prompt.end());
  return static_cast<std::size_t>(at.first - a.prompt.begin());
}

TEST(Prompts, AreAFunctionOfSeedAndNumber) {
  const Traffic traffic = synthetic_traffic({.requests = 4, .input = {300, 300}});
  const RequestWriter writer(traffic, {.ids = ids_to(1000), .seed = 3});
  const RequestWriter other(traffic, {.ids = ids_to(1000), .seed = 4});
  EXPECT_EQ(writer.write(2).prompt, writer.write(2).prompt);
  EXPECT_EQ(writer.write(2).sampling.seed, writer.write(2).sampling.seed);
  EXPECT_NE(writer.write(2).sampling.seed, writer.write(1).sampling.seed);
  EXPECT_LT(common_prefix(writer.write(1), writer.write(2)), 3U);
  EXPECT_LT(common_prefix(writer.write(1), other.write(1)), 3U);
  std::set<std::int32_t> seen;
  for (const std::int32_t id : writer.write(0).prompt) {
    EXPECT_GE(id, 100);
    EXPECT_LT(id, 1100);
    seen.insert(id);
  }
  EXPECT_GT(seen.size(), 200U) << "300 draws of 1000 give 259 different ones on average";
}

TEST(Prompts, ShareTheirPrefixAndNoMore) {
  const Traffic traffic =
      synthetic_traffic({.requests = 3, .input = {9, 9}, .shared_prefix = 77, .seed = 1});
  const RequestWriter writer(traffic, {.ids = ids_to(100000)});
  EXPECT_EQ(writer.write(0).prompt.size(), 86U);
  EXPECT_EQ(common_prefix(writer.write(0), writer.write(1)), 77U);
  EXPECT_EQ(common_prefix(writer.write(1), writer.write(2)), 77U);
}

Traffic of_blocks() {
  return {.requests = {{.prompt_tokens = 40, .blocks = {7, 8, 9}},
                       {.prompt_tokens = 45, .blocks = {7, 8, 5}},
                       {.prompt_tokens = 16, .blocks = {8}}},
          .block_tokens = 16};
}

TEST(Prompts, OfEqualBlocksAreEqual) {
  Traffic traffic = of_blocks();
  const RequestWriter writer(traffic, {.ids = ids_to(100000)});
  const Request a = writer.write(0), b = writer.write(1), c = writer.write(2);
  EXPECT_EQ(a.prompt.size(), 40U);
  EXPECT_EQ(b.prompt.size(), 45U);
  EXPECT_EQ(common_prefix(a, b), 32U);
  EXPECT_TRUE(std::equal(c.prompt.begin(), c.prompt.end(), a.prompt.begin() + 16));
  scale_lengths(traffic, 0.5);
  const RequestWriter half(traffic, {.ids = ids_to(100000)});
  EXPECT_EQ(half.write(0).prompt.size(), 20U);
  EXPECT_EQ(common_prefix(half.write(0), half.write(1)), 16U);
}

TEST(Prompts, LongerThanTheirBlocksEndInTokensOfTheirOwn) {
  Traffic traffic = of_blocks();
  for (PlannedRequest& r : traffic.requests) r.prompt_tokens = 60;
  traffic.requests[1].blocks = traffic.requests[0].blocks;
  const RequestWriter writer(traffic, {.ids = ids_to(100000)});
  EXPECT_EQ(common_prefix(writer.write(0), writer.write(1)), 48U);
}

TEST(Requests, AskForExactlyTheirOutput) {
  const Traffic traffic = one(5, 17);
  const RequestWriter writer(traffic, {.ids = ids_to(3), .temperature = 0.5F});
  const Request request = writer.write(0);
  EXPECT_EQ(request.max_tokens, 17);
  EXPECT_TRUE(request.ignore_eos);
  EXPECT_EQ(request.sampling.temperature, 0.5F);
}

TEST(TextIds, LeaveOutWhatEndsAText) {
  EXPECT_EQ(text_ids(nullptr, 5, {1, 3}), (std::vector<std::int32_t>{0, 2, 4}));
  EXPECT_EQ(text_ids(nullptr, 2, {0, 1}), (std::vector<std::int32_t>{0, 1}))
      << "something is needed";
}

TEST(Samples, AreDrawnWithoutRepetition) {
  const auto sample = draw_sample(1000, 20, 9);
  EXPECT_EQ(std::set<std::size_t>(sample.begin(), sample.end()).size(), 20U);
  EXPECT_TRUE(std::is_sorted(sample.begin(), sample.end()));
  EXPECT_LT(sample.back(), 1000U);
  EXPECT_EQ(sample, draw_sample(1000, 20, 9));
  EXPECT_NE(sample, draw_sample(1000, 20, 10));
  EXPECT_EQ(draw_sample(3, 8, 1), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_TRUE(draw_sample(5, 0, 1).empty());
}

}  // namespace
}  // namespace ingot
