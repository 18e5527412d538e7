// The ranges of sampling parameters, at their ends and beyond.
#include "runtime/sampling/sampling_params.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "base/error.h"

namespace ingot {
namespace {

constexpr std::int64_t kIds = 100;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// The error's text, empty when there is none.
std::string refusal(const SamplingParams& params) {
  try {
    check_sampling(params, kIds);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kInvalid);
    return e.message();
  }
  return "";
}

struct Range {
  const char* name;
  float SamplingParams::*member;
  std::vector<float> good;
  std::vector<float> bad;
};

TEST(CheckSampling, RangesOfNumbers) {
  const float nan = std::nanf("");
  const std::vector<Range> ranges{
      {"repetition_penalty",
       &SamplingParams::repetition_penalty,
       {0.01f, 1, 100},
       {0, -1, 1e-40f, 100.1f, nan, kInfinity}},
      {"presence_penalty", &SamplingParams::presence_penalty, {-2, 0, 2}, {-2.01f, 2.01f, nan}},
      {"frequency_penalty", &SamplingParams::frequency_penalty, {-2, 0, 2}, {-2.01f, 1e30f, nan}},
      {"temperature",
       &SamplingParams::temperature,
       {0, 1e-10f, 100},
       {-0.1f, 100.1f, nan, kInfinity}},
      {"typical_p", &SamplingParams::typical_p, {1e-30f, 1}, {0, -0.1f, 1.0001f, nan}},
      {"top_p", &SamplingParams::top_p, {0, 1e-30f, 1}, {-0.1f, 1.0001f, nan}},
      {"min_p", &SamplingParams::min_p, {0, 1}, {-0.1f, 2, nan}},
  };
  for (const Range& range : ranges) {
    SamplingParams params;
    for (const float value : range.good) {
      params.*range.member = value;
      EXPECT_EQ(refusal(params), "") << range.name << " " << value;
    }
    for (const float value : range.bad) {
      params.*range.member = value;
      EXPECT_EQ(refusal(params).find(range.name), 0u) << range.name << " " << value;
    }
  }
}

TEST(CheckSampling, NamesMemberValueAndWhatIsPossible) {
  EXPECT_EQ(refusal({.top_p = 1.5f}), "top_p is 1.5, possible are values from 0 to 1");
  EXPECT_EQ(refusal({.end_ids = {3, 100}}),
            "stop_token_ids holds token 100, possible are tokens from 0 to 99");
}

TEST(CheckSampling, Integers) {
  EXPECT_EQ(refusal({.min_tokens = 0, .top_k = -1, .logprobs = -1}), "");
  EXPECT_EQ(refusal({.min_tokens = 1, .top_k = 1'000'000, .logprobs = 20}), "");
  EXPECT_EQ(refusal({.min_tokens = -1}).find("min_tokens"), 0u);
  EXPECT_EQ(refusal({.top_k = -2}).find("top_k"), 0u);
  EXPECT_EQ(refusal({.logprobs = -2}).find("logprobs"), 0u);
  EXPECT_EQ(refusal({.logprobs = 21}).find("logprobs"), 0u);
}

TEST(CheckSampling, LogitBias) {
  EXPECT_EQ(refusal({.logit_bias = {{0, -100}, {99, 100}}}), "");
  EXPECT_EQ(refusal({.logit_bias = {{100, 1}}}).find("logit_bias"), 0u);
  EXPECT_EQ(refusal({.logit_bias = {{-1, 1}}}).find("logit_bias"), 0u);
  EXPECT_EQ(refusal({.logit_bias = {{5, 101}}}).find("logit_bias of token 5"), 0u);
  EXPECT_EQ(refusal({.logit_bias = {{5, std::nanf("")}}}).find("logit_bias of token 5"), 0u);
  EXPECT_EQ(refusal({.logit_bias = {{5, 1}, {5, 2}}}).find("logit_bias names token 5"), 0u);
  EXPECT_EQ(refusal({.logit_bias = {{5, 1}, {4, 2}}}).find("logit_bias names token 4"), 0u);
}

}  // namespace
}  // namespace ingot
