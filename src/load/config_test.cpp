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
       {0.0, -1e-5, 1.0, 1e-21, std::nan(""), std::numeric_limits<double>::infinity()}) {
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
  for (const double bad : {0.0, 1e-300, 1e39}) {
    expect_invalid([&](Config& c) { c.ropes.front().scaling.attention_factor = bad; },
                   "attention_factor", scaled(Kind::kYarn));
  }
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
  expect_invalid([](Config& c) { c.experts = 4097; }, "number of experts is 4097", valid_moe());
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

TEST(Config, FactorsAndCaps) {
  const auto nan = std::nan("");
  // Some become 0 or infinite as a float.
  for (const double bad :
       {0.0, -1.0, 1e-300, 1e-7, 1e7, 1e39, 1e300, nan, std::numeric_limits<double>::infinity()}) {
    expect_invalid([&](Config& c) { c.embed_scale = bad; }, "the factor of embeddings");
    expect_invalid([&](Config& c) { c.residual_scale = bad; }, "the factor of sublayers");
    expect_invalid([&](Config& c) { c.logit_scale = bad; }, "the factor of logits");
    expect_invalid([&](Config& c) { c.attention_scale = bad; }, "the factor of attention scores");
    expect_invalid([&](Config& c) { c.router.scale = bad; }, "the factor of experts", valid_moe());
  }
  for (const double bad : {-1.0, nan, 1e10, 1e-4, 1e-46, 1e-320}) {
    expect_invalid([&](Config& c) { c.logit_cap = bad; }, "the cap of logits");
    expect_invalid([&](Config& c) { c.score_cap = bad; }, "the cap of attention scores");
  }
}

TEST(Config, SizesOfSingleLayers) {
  const LayerSizes good{5, 1, 32, 200};
  const auto second = [&](LayerSizes sizes) { return [=](Config& c) { c.sizes = {good, sizes}; }; };
  EXPECT_NO_THROW(([&] {
    Config c = valid();
    second(good)(c);
    validate_config(c, "m");
  })());
  expect_invalid(second({6, 4, 32, 200}), "6 heads do not divide into 4 kv heads of layer 1");
  expect_invalid(second({5, 1, 0, 200}), "the head size of layer 1 is 0");
  expect_invalid(second({5, 1, 32, 0}), "the feed-forward size of layer 1 is 0");
  expect_invalid(second({5, 1, 16, 200}), "the number of rotated elements is 32");
  expect_invalid([&](Config& c) { c.sizes = {good}; }, "1 layer sizes for 2 layers");
}

TEST(Config, RotaryEmbeddingsByLayer) {
  expect_invalid([](Config& c) { c.rope_layer = {0}; }, "1 rotary choices for 2 layers");
  expect_invalid([](Config& c) { c.rope_layer = {0, 1}; }, "a layer's rotary embedding is 1");
  expect_invalid([](Config& c) { c.rope_layer = {0, -2}; }, "a layer's rotary embedding is -2");
  EXPECT_NO_THROW(([] {
    Config c = valid();
    c.ropes.front().dims = 0;  // an embedding that no layer has is not checked
    c.rope_layer = {-1, -1};
    validate_config(c, "m");
  })());
}

TEST(Config, LongropeAndProportional) {
  using Kind = RopeScaling::Kind;
  const auto scaling = [](auto change) {
    return [=](Config& c) {
      c.ropes.front().scaling.kind = Kind::kLongrope;
      c.ropes.front().scaling.original_context = 128;
      change(c.ropes.front().scaling);
    };
  };
  expect_invalid(scaling([](RopeScaling& r) { r.short_factors = {1}; }), "1 factors for 16 pairs");
  expect_invalid(scaling([](RopeScaling& r) { r.long_factors.assign(16, 0); }), "a factor of rope");
  expect_invalid(scaling([](RopeScaling& r) { r.original_context = 1; }), "it must be above 1");
  const auto pairs = [&](std::int64_t n) {
    return scaling([=](RopeScaling& r) {
      r.kind = Kind::kProportional;
      r.pairs = n;
    });
  };
  expect_invalid(pairs(17), "the number of rotated pairs is 17");
  expect_invalid(pairs(-1), "the number of rotated pairs is -1");
}

TEST(Config, SharedKeys) {
  expect_invalid([](Config& c) { c.kv_source = {-1}; }, "1 sources of keys for 2 layers");
  expect_invalid([](Config& c) { c.kv_source = {-1, 1}; }, "the source of a layer's keys is 1");
  expect_invalid([](Config& c) { c.kv_source = {0, -1}; }, "the source of a layer's keys is 0");
  expect_invalid(
      [](Config& c) {
        c.kv_source = {-1, 0};
        c.window = {8, 0};
      },
      "layer 1 cannot read the keys of layer 0");
  expect_invalid([](Config& c) { c.values_from_keys = {true}; }, "1 marks of values for 2 layers");
}

TEST(Config, RouterAndLatents) {
  expect_invalid([](Config& c) { c.router.groups = 3; }, "8 experts do not divide into 3 groups",
                 valid_moe());
  expect_invalid(
      [](Config& c) {
        c.router.groups = 8;
        c.router.groups_used = 1;
      },
      "the number of experts used is 2", valid_moe());
  expect_invalid([](Config& c) { c.router.groups_used = 2; }, "groups used is 2", valid_moe());
  expect_invalid([](Config& c) { c.shared_ffn = -1; }, "the shared experts'", valid_moe());
  const auto latent = [](MlaSizes sizes) { return [=](Config& c) { c.mla = sizes; }; };
  expect_invalid(latent({0, 577, 16, 32, 16}), "the rank of keys and values is 577");
  expect_invalid(latent({0, 512, 16, 66, 16}), "rotated part is 66");
  expect_invalid(latent({0, 64, 16, 32, 0}), "the size of a value is 0");
  expect_invalid(latent({0, 64, 16, 32, 16, 1e-300}),
                 "the epsilon of the latents' norms is 1e-300");
}

TEST(Config, LayersAfterPooling) {
  const auto dense = [](std::int64_t inputs, std::int64_t outputs) {
    return DenseLayer{.weight = "w", .bias = "", .inputs = inputs, .outputs = outputs};
  };
  expect_invalid([&](Config& c) { c.dense = {dense(100, 8)}; }, "100 inputs for 120 values");
  expect_invalid(
      [&](Config& c) {
        c.dense = {dense(120, 8), dense(9, 1)};
      },
      "9 inputs for 8 values");
  expect_invalid([&](Config& c) { c.dense = {dense(120, 0)}; }, "after pooling is 0");
  expect_invalid([](Config& c) { c.labels = 1 << 17; }, "the number of labels is 131072");
  expect_invalid([](Config& c) { c.position_offset = -1; }, "the first position's row is -1");
}

}  // namespace
}  // namespace ingot
