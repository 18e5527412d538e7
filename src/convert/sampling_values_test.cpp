// Sampling defaults as GGUF keys: their types, and a line about those without a key.
#include "convert/sampling_values.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "load/gguf/gguf_file.h"
#include "load/gguf/gguf_metadata.h"

namespace ingot {
namespace {

constexpr SamplingKey kKeys[] = {
    {"temperature", "temp"}, {"top_p", "top_p"}, {"top_k", "top_k", true}};

/// The keys "general.sampling.*" that are written for a generation_config.json, as a reader shows
/// them, and the warning.
struct Written {
  Json keys = Json::object();
  std::vector<std::string> warnings;
};

Written written(std::string_view stated) {
  Written w;
  GgufValues values;
  write_sampling(parse_json(stated, "test", "json"), kKeys, values, w.warnings);
  const std::string bytes = values.file();
  const GgufFile file = parse_gguf(std::as_bytes(std::span(bytes)), "again");
  for (const GgufEntry& entry : file.entries) {
    EXPECT_EQ(entry.type, entry.key.ends_with("top_k") ? GgufType::kInt32 : GgufType::kFloat32);
    w.keys.set(std::string(entry.key), gguf_json(entry));
  }
  return w;
}

TEST(SamplingValues, NumbersGetTheirKeys) {
  const Written w = written(R"({"temperature": 0.6, "top_k": 20, "top_p": 1, "do_sample": true,
                                "bos_token_id": 1, "eos_token_id": [2], "pad_token_id": 0,
                                "transformers_version": "4.40", "min_length": null})");
  EXPECT_EQ(w.keys.dump(), R"({"general.sampling.temp":0.6,"general.sampling.top_k":20,)"
                           R"("general.sampling.top_p":1.0})");
  EXPECT_TRUE(w.warnings.empty()) << w.warnings.front();
}

TEST(SamplingValues, OthersAreNamed) {
  const Written w = written(R"({"do_sample": false, "temperature": 0.5, "typical_p": 0.9})");
  EXPECT_EQ(w.keys.dump(), R"({"general.sampling.temp":0.5})");
  ASSERT_EQ(w.warnings.size(), 1u);
  EXPECT_EQ(w.warnings[0],
            "GGUF has no keys for these values of generation_config.json: "
            R"({"do_sample":false,"typical_p":0.9})");
}

TEST(SamplingValues, WhatAKeysTypeLacksIsNamed) {
  for (const char* value : {R"("1")", "[1]", "true", "1e39", "-1e39"}) {
    const Written w = written(cat(R"({"temperature":)", value, "}"));
    EXPECT_EQ(w.keys.dump(), "{}") << value;
    ASSERT_EQ(w.warnings.size(), 1u) << value;
  }
  for (const char* value : {"1.5", "2147483648", "-2147483649", "1e300", "null"}) {
    const Written w = written(cat(R"({"top_k":)", value, "}"));
    EXPECT_EQ(w.keys.dump(), "{}") << value;
    EXPECT_EQ(w.warnings.size(), std::string_view(value) == "null" ? 0u : 1u) << value;
  }
  EXPECT_EQ(written(R"({"top_k": 2147483647})").keys.dump(),
            R"({"general.sampling.top_k":2147483647})");
  EXPECT_EQ(written(R"({"top_k": 20.0})").keys.dump(), R"({"general.sampling.top_k":20})");
}

TEST(SamplingValues, AWarningIsOneShortLine) {
  const Written w = written(cat(R"({"a\nb": ")", std::string(100'000, 'x'), R"("})"));
  ASSERT_EQ(w.warnings.size(), 1u);
  EXPECT_LT(w.warnings[0].size(), 600u);
  EXPECT_EQ(w.warnings[0].find('\n'), std::string::npos);
}

}  // namespace
}  // namespace ingot
