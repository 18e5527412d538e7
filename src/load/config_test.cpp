// Tests of the relations between a Config's fields.
#include "load/config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "load/hf/hf_test_util.h"

namespace ingot {
namespace {

using namespace testing_hf;

Config valid() {
  Config c;
  c.architecture = "llama";
  c.layers = 2;
  c.hidden = 120;
  c.heads = 5;
  c.kv_heads = 1;
  c.head_dim = 32;
  c.ffn = 200;
  c.context = 512;
  c.vocab = 320;
  c.norm_eps = 1e-5;
  c.ropes.front().dims = 32;
  return c;
}

Config valid_moe() {
  Config c = valid();
  c.experts = 8;
  c.experts_used = 2;
  c.expert_ffn = 64;
  c.dense_layer = {true, false};
  return c;
}

template <class Change>
void expect_invalid(Change change, std::string_view part, Config c = valid()) {
  change(c);
  expect_refused([&] { validate_config(c, "m.gguf"); }, part);
}

TEST(Config, AcceptsHeadsThatDoNotFillTheHiddenSize) {
  EXPECT_NO_THROW(validate_config(valid(), "m"));
  EXPECT_NO_THROW(validate_config(valid_moe(), "m"));
}

TEST(Config, S18SizesOutOfRange) {
  for (const std::int64_t bad :
       {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1'000'000'000},
        std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
    expect_invalid([&](Config& c) { c.layers = bad; },
                   "m.gguf: config @0: the number of layers is");
    expect_invalid([&](Config& c) { c.hidden = bad; }, "the hidden size is");
    expect_invalid([&](Config& c) { c.heads = bad; }, "the number of heads is");
    expect_invalid([&](Config& c) { c.kv_heads = bad; }, "the number of kv heads is");
    expect_invalid([&](Config& c) { c.head_dim = bad; }, "the head size is");
    expect_invalid([&](Config& c) { c.ffn = bad; }, "the feed-forward size is");
    expect_invalid([&](Config& c) { c.context = bad; }, "the context length is");
    expect_invalid([&](Config& c) { c.ropes.front().dims = bad; }, "rotated elements is");
  }
  expect_invalid([](Config& c) { c.vocab = std::int64_t{1} << 31; }, "the vocabulary size is");
  expect_invalid([](Config& c) { c.kv_heads = 2; }, "5 heads do not divide into 2 kv heads");
  expect_invalid([](Config& c) { c.kv_heads = 10; }, "do not divide");
}

TEST(Config, NormAndRope) {
  for (const double bad :
       {0.0, -1e-5, 1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    expect_invalid([&](Config& c) { c.norm_eps = bad; }, "epsilon");
  }
  for (const double bad :
       {0.0, -1.0, 1e39, std::nan(""), std::numeric_limits<double>::infinity()}) {
    expect_invalid([&](Config& c) { c.ropes.front().theta = bad; }, "the rotary theta is");
  }
  expect_invalid([](Config& c) { c.ropes.front().dims = 31; }, "it must be even");
  expect_invalid([](Config& c) { c.ropes.front().dims = 34; }, "rotated elements is 34");
  EXPECT_NO_THROW(([] {
    Config c = valid();
    c.ropes.front().dims = 16;
    validate_config(c, "m");
  })());
}

TEST(Config, S21RopeScaling) {
  using Kind = RopeScaling::Kind;
  const auto scaled = [](Kind kind) {
    Config c = valid();
    c.ropes.front().scaling.kind = kind;
    c.ropes.front().scaling.factor = 4;
    c.ropes.front().scaling.original_context = 128;
    return c;
  };
  for (const Kind kind : {Kind::kLinear, Kind::kLlama3, Kind::kYarn}) {
    EXPECT_NO_THROW(validate_config(scaled(kind), "m"));
    for (const double bad : {0.0, -2.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
      expect_invalid([&](Config& c) { c.ropes.front().scaling.factor = bad; }, "factor",
                     scaled(kind));
    }
  }
  expect_invalid([](Config& c) { c.ropes.front().scaling.low_freq_factor = 4; }, "is not below",
                 scaled(Kind::kLlama3));
  expect_invalid([](Config& c) { c.ropes.front().scaling.low_freq_factor = 0; }, "low_freq_factor",
                 scaled(Kind::kLlama3));
  expect_invalid([](Config& c) { c.ropes.front().scaling.original_context = 0; },
                 "original context", scaled(Kind::kLlama3));
  expect_invalid([](Config& c) { c.ropes.front().scaling.original_context = std::nan(""); },
                 "original context", scaled(Kind::kYarn));
  expect_invalid([](Config& c) { c.ropes.front().scaling.beta_fast = 0.5; },
                 "is below its beta_slow", scaled(Kind::kYarn));
  expect_invalid([](Config& c) { c.ropes.front().scaling.beta_slow = 0; }, "beta_slow",
                 scaled(Kind::kYarn));
  expect_invalid([](Config& c) { c.ropes.front().scaling.attention_factor = 0; },
                 "attention_factor", scaled(Kind::kYarn));
}

TEST(Config, LayerListsHaveOneEntryALayer) {
  expect_invalid([](Config& c) { c.window = {8}; }, "1 sliding windows for 2 layers");
  expect_invalid([](Config& c) { c.window = {8, -1}; }, "a sliding window is -1");
  expect_invalid([](Config& c) { c.dense_layer = {true}; }, "1 dense layer marks for 2 layers",
                 valid_moe());
}

TEST(Config, Experts) {
  expect_invalid([](Config& c) { c.experts_used = 9; }, "experts used is 9", valid_moe());
  expect_invalid([](Config& c) { c.experts_used = 0; }, "experts used is 0", valid_moe());
  expect_invalid(
      [](Config& c) {
        c.layers = 512;
        c.dense_layer.clear();
        c.experts = 257;
      },
      "layers times experts is 131584", valid_moe());
  expect_invalid([](Config& c) { c.expert_ffn = 0; }, "experts' feed-forward", valid_moe());
  expect_invalid([](Config& c) { c.ffn = 0; }, "dense layers' feed-forward", valid_moe());
  expect_invalid([](Config& c) { c.experts = -1; }, "number of experts is -1", valid_moe());
  expect_invalid([](Config& c) { c.experts_used = 2; }, "2 experts are used of none");
}

TEST(Config, S22TokenIds) {
  expect_invalid([](Config& c) { c.ends = {{2, ""}, {320, ""}}; }, "an eos token id is 320");
  expect_invalid([](Config& c) { c.ends = {{-1, ""}}; }, "an eos token id is -1");
  expect_invalid([](Config& c) { c.bos_id = 320; }, "the bos token id is 320");
}

}  // namespace
}  // namespace ingot
