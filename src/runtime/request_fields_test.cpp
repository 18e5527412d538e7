// Request fields: their ranges at the ends and beyond, values from JSON, the model's own defaults.
#include "runtime/request_fields.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "base/error.h"
#include "base/text.h"

namespace ingot {
namespace {

constexpr std::int64_t kIds = 100;
constexpr float kInf = std::numeric_limits<float>::infinity();

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
       {0, -1, 1e-40f, 100.1f, nan, kInf}},
      {"presence_penalty", &SamplingParams::presence_penalty, {-2, 0, 2}, {-2.01f, 2.01f, nan}},
      {"frequency_penalty", &SamplingParams::frequency_penalty, {-2, 0, 2}, {-2.01f, 1e30f, nan}},
      {"temperature", &SamplingParams::temperature, {0, 1e-10f, 100}, {-0.1f, 100.1f, nan, kInf}},
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

TEST(RequestFields, EveryPlaceHasANameOnce) {
  for (const RequestField& one : request_fields()) {
    EXPECT_NE(one.places, 0u) << one.name;
    EXPECT_FALSE(one.help.empty()) << one.name;
    EXPECT_EQ((one.places & place::kModel) != 0, !one.gguf.empty()) << one.name;
    for (Places bit = 1; bit <= place::kModel; bit <<= 1) {
      if ((one.places & bit) == 0) continue;
      EXPECT_EQ(find_field(one.name, bit), &one) << one.name;
      for (const std::string_view name : names_at(one, bit)) {
        EXPECT_EQ(find_field(name, bit), &one) << name;
      }
    }
    for (const FieldAlias& alias : one.aliases) {
      EXPECT_EQ(alias.places & ~one.places, 0u) << alias.name;
      // Files have one name for each field.
      EXPECT_EQ(find_field(alias.name, place::kSession | place::kModel), nullptr) << alias.name;
    }
  }
}

TEST(RequestFields, DefaultsAreWithinTheirRange) {
  for (Places bit = 1; bit <= place::kModel; bit <<= 1) {
    EXPECT_NO_THROW(check_sampling(default_request(bit).sampling, kIds)) << bit;
  }
  EXPECT_EQ(default_request(place::kTalk).sampling.temperature, 0.8f);
  EXPECT_EQ(default_request(place::kRun).sampling.temperature, 0);
  EXPECT_EQ(default_request(place::kCompletions).max_tokens, 16);
}

/// The error's text for a field's value in JSON, empty when there is none.
std::string refusal(std::string_view name, std::string_view json, Places where) {
  Request request;
  try {
    set_field(request, *find_field(name, where), parse_json(json, "test", "json"), where);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kInvalid);
    return e.message();
  }
  return "";
}

TEST(SetField, RefusesOtherKinds) {
  EXPECT_EQ(refusal("top_p", "\"x\"", place::kLine), "top_p is a string, expected a number");
  EXPECT_EQ(refusal("top_k", "1.5", place::kLine), "top_k is a number, expected an integer");
  EXPECT_EQ(refusal("ignore_eos", "1", place::kLine),
            "ignore_eos is an integer, expected a boolean");
  EXPECT_EQ(refusal("stop", "1", place::kLine),
            "stop is an integer, expected a string or an array of strings");
  EXPECT_EQ(refusal("stop", "\"x\"", place::kLine), "");
  EXPECT_EQ(refusal("logit_bias", R"({"01": 1})", place::kLine), "logit_bias: 01 is no token id");
}

TEST(SetField, HasTheRangeOfItsPlace) {
  EXPECT_EQ(refusal("temperature", "100", place::kLine), "");
  EXPECT_EQ(refusal("temperature", "2.5", place::kChat),
            "temperature is 2.5, possible are values from 0 to 2");
  EXPECT_EQ(refusal("temperature", "1.5", place::kMessages),
            "temperature is 1.5, possible are values from 0 to 1");
  EXPECT_EQ(refusal("temperature", "-1e-300", place::kLine).find("temperature is -1e-300"), 0u);
  EXPECT_EQ(refusal("typical_p", "0", place::kLine),
            "typical_p is 0, possible are values above 0 and up to 1");
  EXPECT_EQ(refusal("repetition_penalty", "0.01", place::kLine), "");
  EXPECT_EQ(refusal("top_k", "2147483648", place::kLine),
            "top_k is 2147483648, possible are values from -1 to 2147483647");
  EXPECT_EQ(refusal("seed", "18446744073709551615", place::kLine), "");
  EXPECT_EQ(refusal("seed", "-1", place::kLine),
            "seed is -1, possible are values from 0 to 18446744073709551615");
  EXPECT_EQ(refusal("seed", "-9223372036854775808", place::kChat), "");
}

/// The repetition penalty that a JSON object sets under any of its names; the error's text, if any.
std::string repetition(std::string_view json) {
  const RequestField& field = *find_field("repeat_penalty", place::kChat);
  const Json object = parse_json(json, "test", "json");
  Request request;
  try {
    set_named_field(request, field, place::kChat,
                    [&](std::string_view name) { return object.find(name); });
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kInvalid);
    return e.message();
  }
  return field_text(field, request);
}

TEST(SetNamedField, TakesEachNameAndRefusesContradictions) {
  EXPECT_EQ(repetition("{}"), "1");
  EXPECT_EQ(repetition(R"({"repetition_penalty": 1.5})"), "1.5");
  EXPECT_EQ(repetition(R"({"repeat_penalty": 1.5})"), "1.5");
  EXPECT_EQ(repetition(R"({"repeat_penalty": 2, "repetition_penalty": 2.0})"), "2");
  EXPECT_EQ(repetition(R"({"repeat_penalty": 2, "repetition_penalty": 1})"),
            "repeat_penalty is another value than that of repetition_penalty, its other name");
  EXPECT_EQ(repetition(R"({"repeat_penalty": 0})"),
            "repeat_penalty is 0, possible are values from 0.01 to 100");
}

TEST(RequestFields, FlagsHaveTheAliases) {
  EXPECT_EQ(flags_of(*find_field("repetition_penalty", place::kRun), place::kRun),
            "--repetition-penalty,--repeat-penalty");
  EXPECT_EQ(flags_of(*find_field("max_tokens", place::kRun), place::kRun), "--max-tokens");
}

TEST(FieldJson, GivesTheValueBack) {
  Request from = default_request(place::kTalk);
  from.sampling.top_p = 0.1f;
  from.sampling.seed = ~std::uint64_t{0};
  from.sampling.logit_bias = {{2, -0.3f}, {7, 100}};
  from.sampling.end_ids = {4, 5};
  from.stop = {"a", "b"};
  from.ignore_eos = true;
  for (const RequestField& field : request_fields()) {
    if ((field.places & place::kSession) == 0) continue;
    Request to;
    set_field(to, field, field_json(field, from), place::kSession);
    EXPECT_EQ(field_text(field, to), field_text(field, from)) << field.name;
  }
  EXPECT_EQ(field_text(*find_field("top_p", place::kSet), from), "0.1");
}

/// What a model's files state, set over other defaults.
Request with_stated(std::string_view json, Naming naming) {
  Config config;
  config.naming = naming;
  config.sampling = parse_json(json, "test", "json");
  Request request = default_request(place::kTalk);
  set_model_defaults(request, config, "m");
  return request;
}

TEST(ModelDefaults, AreReadFromBothContainers) {
  const Request hf = with_stated(R"({"temperature": 0.6, "top_k": 20, "top_p": null, "min_p": 0.5,
                                     "repetition_penalty": 1.05, "eos_token_id": [1]})",
                                 Naming::kHuggingFace);
  EXPECT_EQ(hf.sampling.temperature, 0.6f);
  EXPECT_EQ(hf.sampling.top_k, 20);
  EXPECT_EQ(hf.sampling.top_p, 0.95f);
  EXPECT_EQ(hf.sampling.min_p, 0.5f);
  EXPECT_EQ(hf.sampling.repetition_penalty, 1.05f);
  const Request gguf =
      with_stated(R"({"temp": 0.5, "top_k": -1, "penalty_repeat": 1.5})", Naming::kGguf);
  EXPECT_EQ(gguf.sampling.temperature, 0.5f);
  EXPECT_EQ(gguf.sampling.top_k, -1);
  EXPECT_EQ(gguf.sampling.repetition_penalty, 1.5f);
}

TEST(ModelDefaults, OutOfRangeOrOfAnotherTypeAreRefused) {
  const auto refused = [](std::string_view json, Naming naming, std::string_view message) {
    try {
      with_stated(json, naming);
      ADD_FAILURE() << json;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kModel);
      EXPECT_EQ(error.message().find(cat("m: config @0: ", message)), 0u) << error.message();
    }
  };
  for (const std::string name : {"temperature", "top_p", "min_p", "repetition_penalty", "top_k"}) {
    for (const char* value : {"-2", "\"1\"", "1e10", "[1]"}) {
      refused(cat("{\"", name, "\": ", value, "}"), Naming::kHuggingFace,
              cat("generation_config.", name, " is "));
    }
  }
  refused(R"({"top_k": 1.5})", Naming::kHuggingFace, "generation_config.top_k is a number");
  refused(R"({"temp": -1})", Naming::kGguf, "general.sampling.temp is -1, possible are values");
}

}  // namespace
}  // namespace ingot
