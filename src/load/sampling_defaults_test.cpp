// Settings for drawing tokens, as models bring them.
#include "load/sampling_defaults.h"

#include "load/gguf/gguf_test_util.h"
#include "load/gguf/gguf_writer_test_util.h"

namespace ingot {
namespace {

using namespace testing_gguf;

SamplingDefaults from_json(const std::string& text) {
  const Json json = parse_json(text, "g.json", "config");
  return read_sampling(JsonKeys(json, "g.json"));
}

std::string json_refusal(const std::string& text) {
  try {
    from_json(text);
    return "taken";
  } catch (const Error& error) {
    return error.message();
  }
}

TEST(SamplingDefaults, OfGenerationConfig) {
  const auto d = from_json(
      R"({"temperature": 0.6, "top_k": 20, "top_p": 0.95, "min_p": 0,
          "repetition_penalty": 1.05, "do_sample": true, "eos_token_id": [1]})");
  EXPECT_EQ(d.temperature, 0.6);
  EXPECT_EQ(d.top_k, 20);
  EXPECT_EQ(d.top_p, 0.95);
  EXPECT_EQ(d.min_p, 0);
  EXPECT_EQ(d.repetition_penalty, 1.05);
  const auto none = from_json(R"({"temperature": null})");
  EXPECT_FALSE(none.temperature || none.top_k || none.top_p || none.min_p ||
               none.repetition_penalty);
}

TEST(SamplingDefaults, OfGguf) {
  GgufWriter w = tiny_model();
  w.set("general.sampling.temp", f32(0.5f));
  w.set("general.sampling.top_k", i32(-1));
  w.set("general.sampling.penalty_repeat", f32(1.5f));
  const Opened opened = open_bytes(w.build());
  const SamplingDefaults& d = opened.config().sampling;
  EXPECT_EQ(d.temperature, 0.5);
  EXPECT_EQ(d.top_k, -1);
  EXPECT_EQ(d.repetition_penalty, 1.5);
  EXPECT_FALSE(d.top_p || d.min_p);
}

TEST(SamplingDefaults, OutOfRangeOrOfAnotherTypeAreRefused) {
  for (const char* text :
       {R"({"temperature": -0.1})", R"({"temperature": 101})", R"({"temperature": "1"})",
        R"({"top_p": 1.5})", R"({"min_p": -1})", R"({"repetition_penalty": 0})", R"({"top_k": -2})",
        R"({"top_k": 2147483648})", R"({"top_k": 1.5})"}) {
    EXPECT_EQ(json_refusal(text).substr(0, 18), "g.json: config @0:") << text;
  }
  const auto refused = [](std::string_view key, Value value) {
    EXPECT_NE(refusal(tiny_model().set(key, std::move(value)).build()).find(key),
              std::string::npos);
  };
  refused("general.sampling.temp", f32(-1));
  refused("general.sampling.top_p", f32(2));
  refused("general.sampling.top_k", i32(-2));
  refused("general.sampling.top_k", f32(2));
}

}  // namespace
}  // namespace ingot
