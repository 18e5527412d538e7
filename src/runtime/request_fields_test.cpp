// Request fields: their ranges at the ends and beyond, values from JSON, the model's own defaults.
#include "runtime/request_fields.h"

#include <gtest/gtest.h>

#include <algorithm>
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
      {"dry_multiplier", &SamplingParams::dry_multiplier, {0, 1e-40f, 100}, {-1, 101, nan, kInf}},
      {"dry_base", &SamplingParams::dry_base, {1, 10}, {0.99f, 10.1f, nan, -kInf}},
      {"top_n_sigma", &SamplingParams::top_n_sigma, {-1, 0, 1e-40f, 1000}, {-2, 1001, nan, kInf}},
      {"mirostat_tau", &SamplingParams::mirostat_tau, {0, 100}, {-0.1f, 101, nan}},
      {"mirostat_eta", &SamplingParams::mirostat_eta, {0, 1}, {-0.1f, 1.1f, nan}},
      {"xtc_probability", &SamplingParams::xtc_probability, {0, 1}, {-0.1f, 1.1f, nan}},
      {"xtc_threshold", &SamplingParams::xtc_threshold, {0, 1}, {-0.1f, 1.1f, nan}},
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
            "stop_token_ids[1] is token 100, possible are tokens from 0 to 99");
}

TEST(CheckSampling, Integers) {
  EXPECT_EQ(refusal({.min_tokens = 0, .top_k = -1, .logprobs = -1}), "");
  EXPECT_EQ(refusal({.min_tokens = 1, .top_k = 1'000'000, .logprobs = 20}), "");
  EXPECT_EQ(refusal({.min_tokens = -1}).find("min_tokens"), 0u);
  EXPECT_EQ(refusal({.top_k = -2}).find("top_k"), 0u);
  EXPECT_EQ(refusal({.logprobs = -2}).find("logprobs"), 0u);
  EXPECT_EQ(refusal({.logprobs = 21}).find("logprobs"), 0u);
}

TEST(CheckSampling, MirostatIsOffOrVersion2) {
  EXPECT_EQ(refusal({.mirostat = 2}), "");
  EXPECT_EQ(refusal({.mirostat = 1}), "mirostat is 1, possible are 0 and 2");
  EXPECT_EQ(refusal({.mirostat = 3}), "mirostat is 3, possible are values from 0 to 2");
  EXPECT_EQ(refusal({.mirostat = -1}).find("mirostat is -1"), 0u);
}

TEST(CheckSampling, Dry) {
  EXPECT_EQ(refusal({.dry_allowed_length = 0, .dry_penalty_last_n = -1}), "");
  EXPECT_EQ(refusal({.dry_allowed_length = 50, .dry_penalty_last_n = 1'000'000}), "");
  EXPECT_EQ(refusal({.dry_allowed_length = 51}).find("dry_allowed_length is 51"), 0u);
  EXPECT_EQ(refusal({.dry_allowed_length = -1}).find("dry_allowed_length is -1"), 0u);
  EXPECT_EQ(refusal({.dry_penalty_last_n = -2}).find("dry_penalty_last_n is -2"), 0u);
  const auto breakers = [](std::vector<std::string> texts) {
    return refusal({.dry_sequence_breakers = std::move(texts)});
  };
  EXPECT_EQ(breakers({}), "");
  EXPECT_EQ(breakers(std::vector<std::string>(32, std::string(40, 'x'))), "");
  EXPECT_EQ(breakers(std::vector<std::string>(33, "x")),
            "dry_sequence_breakers has 33 entries, possible are at most 32");
  EXPECT_EQ(breakers({""}), "dry_sequence_breakers[0] has 0 bytes, possible are 1 to 40");
  EXPECT_EQ(breakers({std::string(41, 'x')}).find("dry_sequence_breakers[0] has 41 bytes"), 0u);
  EXPECT_EQ(breakers({"\xff"}).find("dry_sequence_breakers[0] is not valid"), 0u);
}

TEST(CheckSampling, Masks) {
  EXPECT_EQ(refusal({.bad_words = {"x", std::string(128, 'x')}}), "");
  EXPECT_EQ(refusal({.bad_words = {""}}).find("bad_words[0] has 0 bytes"), 0u);
  EXPECT_EQ(refusal({.bad_words = {std::string(129, 'x')}}).find("bad_words[0] has 129 bytes"), 0u);
  EXPECT_EQ(refusal({.bad_words = std::vector<std::string>(257, "x")}).find("bad_words has 257"),
            0u);
  EXPECT_EQ(refusal({.allowed_token_ids = {99, 0, 99}}), "");
  EXPECT_EQ(refusal({.allowed_token_ids = {0, 100}}),
            "allowed_token_ids[1] is token 100, possible are tokens from 0 to 99");
  EXPECT_EQ(refusal({.allowed_token_ids = {-1}}).find("allowed_token_ids[0] is token -1"), 0u);
  EXPECT_EQ(refusal({.allowed_token_ids = std::vector<std::int32_t>(101)}),
            "allowed_token_ids has 101 tokens, possible are at most 100");
}

TEST(CheckSampling, LogitBias) {
  EXPECT_EQ(refusal({.logit_bias = {{0, -100}, {99, 100}}}), "");
  EXPECT_EQ(refusal({.logit_bias = {{100, 1}}}).find("logit_bias"), 0u);
  EXPECT_EQ(refusal({.logit_bias = {{-1, 1}}}).find("logit_bias"), 0u);
  EXPECT_EQ(refusal({.logit_bias = {{5, 101}}}).find("logit_bias[\"5\"] is 101"), 0u);
  EXPECT_EQ(refusal({.logit_bias = {{5, std::nanf("")}}}).find("logit_bias[\"5\"]"), 0u);
  EXPECT_EQ(refusal({.logit_bias = {{5, kInf}}}).find("logit_bias[\"5\"]"), 0u);
  EXPECT_EQ(refusal({.logit_bias = {{5, 1}, {5, 2}}}).find("logit_bias names token 5"), 0u);
  EXPECT_EQ(refusal({.logit_bias = {{5, 1}, {4, 2}}}).find("logit_bias names token 4"), 0u);
}

TEST(CheckSampling, BansLeaveAToken) {
  SamplingParams params;
  for (std::int32_t id = 1; id < kIds; ++id) params.logit_bias.push_back({id, kBan});
  EXPECT_EQ(refusal(params), "");
  params.logit_bias.insert(params.logit_bias.begin(), {0, kBan});
  EXPECT_EQ(refusal(params), "logit_bias bans every token");
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
  EXPECT_EQ(refusal("logit_bias", R"({"01": 1})", place::kLine),
            "logit_bias[\"01\"] is no token id");
  EXPECT_EQ(refusal("mirostat", "1", place::kSet), "mirostat is 1, possible are 0 and 2");
  EXPECT_EQ(refusal("bad_words", "[1]", place::kChat),
            "bad_words[0] is an integer, expected a string");
}

TEST(SetField, AllowedTokenIdsNameAToken) {
  constexpr std::string_view kError =
      "allowed_token_ids is empty, possible are lists of one token or more";
  EXPECT_EQ(refusal("allowed_token_ids", "[]", place::kChat), kError);
  EXPECT_EQ(refusal("allowed_token_ids", "[]", place::kLine), kError);
  EXPECT_EQ(refusal("allowed_token_ids", "[]", place::kSession), "") << "none were given";
  EXPECT_EQ(refusal("allowed_token_ids", "[5]", place::kChat), "");
}

TEST(SetField, NamesTheEntryOfAList) {
  EXPECT_EQ(refusal("stop", R"(["a", 1])", place::kLine),
            "stop[1] is an integer, expected a string");
  EXPECT_EQ(refusal("stop_token_ids", "[1, 2.5]", place::kLine),
            "stop_token_ids[1] is a number, expected an integer");
  EXPECT_EQ(refusal("stop_token_ids", "[-1]", place::kLine),
            "stop_token_ids[0] is -1, possible are values from 0 to 2147483647");
  EXPECT_EQ(refusal("logit_bias", R"({"5": true})", place::kLine),
            "logit_bias[\"5\"] is a boolean, expected a number");
  EXPECT_EQ(refusal("logit_bias", "[1]", place::kLine),
            "logit_bias[0] is no pair of a token id and a value");
  EXPECT_EQ(refusal("logit_bias", "[[1, 2], [3, 101]]", place::kLine),
            "logit_bias[1][1] is 101, possible are values from -100 to 100");
}

TEST(SetField, TakesWholeNumbersOfAnyForm) {
  const auto set = [](std::string_view name, std::string_view json) {
    Request request;
    set_field(request, *find_field(name, place::kLine), parse_json(json, "test", "json"),
              place::kLine);
    return request.sampling;
  };
  EXPECT_EQ(set("top_k", "4.0").top_k, 4);
  EXPECT_EQ(set("top_k", "1e1").top_k, 10);
  EXPECT_EQ(set("seed", "5.0").seed, 5U);
  EXPECT_EQ(set("seed", "9007199254740992.0").seed, std::uint64_t{1} << 53);
  EXPECT_EQ(set("stop_token_ids", "[3.0, 1e1]").end_ids, (std::vector<std::int32_t>{3, 10}));
  EXPECT_EQ(refusal("top_k", "1e300", place::kLine),
            "top_k is 1e+300, possible are values from -1 to 2147483647");
  // The parser may have rounded a number of this size.
  EXPECT_EQ(refusal("seed", "9007199254740994.0", place::kLine),
            "seed is a number, expected an integer");
}

TEST(SetField, ReadsBiasesInEachForm) {
  const auto biases = [](std::string_view json) {
    Request request;
    set_field(request, *find_field("logit_bias", place::kLine), parse_json(json, "test", "json"),
              place::kLine);
    return field_json(*find_field("logit_bias", place::kLine), request).dump();
  };
  EXPECT_EQ(biases(R"({"5": 1.5, "3": false})"), R"({"3":false,"5":1.5})");
  EXPECT_EQ(biases(R"([[5, 1.5], [3.0, false]])"), R"({"3":false,"5":1.5})");
  EXPECT_EQ(biases("[]"), "{}");
}

TEST(SetField, HasTheRangeOfItsPlace) {
  EXPECT_EQ(refusal("temperature", "100", place::kLine), "");
  for (const Places where : {place::kChat, place::kMessages}) {
    EXPECT_EQ(refusal("temperature", "100", where), "");
    EXPECT_EQ(refusal("temperature", "100.5", where),
              "temperature is 100.5, possible are values from 0 to 100");
  }
  EXPECT_EQ(refusal("temperature", "-1e-300", place::kLine).find("temperature is -1e-300"), 0u);
  EXPECT_EQ(refusal("typical_p", "0", place::kLine),
            "typical_p is 0, possible are values above 0 and up to 1");
  EXPECT_EQ(refusal("repetition_penalty", "0.01", place::kLine), "");
  EXPECT_EQ(refusal("top_k", "2147483648", place::kLine),
            "top_k is 2147483648, possible are values from -1 to 2147483647");
  EXPECT_EQ(refusal("seed", "18446744073709551615", place::kLine), "");
  EXPECT_EQ(refusal("seed", "-2", place::kLine),
            "seed is -2, possible are values from 0 to 18446744073709551615");
  EXPECT_EQ(refusal("seed", "-9223372036854775808", place::kChat), "");
}

TEST(SetField, ASeedOfMinusOneOrNullIsRandom) {
  const auto seed_of = [](const char* json, Places where) {
    Request request;
    set_field(request, *find_field("seed", where), parse_json(json, "test", "seed"), where);
    return request.sampling.seed;
  };
  for (const Places where : {place::kRun, place::kTalk, place::kSet, place::kLine, place::kChat,
                             place::kCompletions, place::kResponses, place::kMessages}) {
    for (const char* json : {"-1", "null"}) {
      const std::uint64_t one = seed_of(json, where);
      const std::uint64_t two = seed_of(json, where);
      EXPECT_NE(one, two) << json << " at place " << where;  // equal once in 2^53 runs
      EXPECT_LT(std::max(one, two), std::uint64_t{1} << 53);
    }
  }
  EXPECT_EQ(seed_of("-2", place::kChat), ~std::uint64_t{1});
  EXPECT_EQ(seed_of("18446744073709551615", place::kChat), ~std::uint64_t{0});
  EXPECT_NE(refusal("seed", "-1", place::kSession), "");
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
            "repeat_penalty is unequal to repetition_penalty, its other name");
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
  from.sampling.dry_sequence_breakers = {"\n", "\xc3\xa9"};
  from.sampling.bad_words = {"c"};
  from.sampling.allowed_token_ids = {6, 7};
  from.sampling.xtc_threshold = 0.3f;
  from.sampling.mirostat = 2;
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

/// What a model's files state, set over other defaults. `wrong`: the lines about wrong values.
Request with_stated(std::string_view json, Naming naming, std::vector<std::string>& wrong) {
  Config config;
  config.naming = naming;
  config.sampling = parse_json(json, "test", "json");
  Request request = default_request(place::kTalk);
  wrong = set_model_defaults(request, config, "m");
  return request;
}

TEST(ModelDefaults, AreReadFromBothContainers) {
  std::vector<std::string> wrong;
  const Request hf = with_stated(R"({"temperature": 0.6, "top_k": 20, "top_p": null, "min_p": 0.5,
                                     "repetition_penalty": 1.05, "eos_token_id": [1]})",
                                 Naming::kHuggingFace, wrong);
  EXPECT_TRUE(wrong.empty());
  EXPECT_EQ(hf.sampling.temperature, 0.6f);
  EXPECT_EQ(hf.sampling.top_k, 20);
  EXPECT_EQ(hf.sampling.top_p, 0.95f);
  EXPECT_EQ(hf.sampling.min_p, 0.5f);
  EXPECT_EQ(hf.sampling.repetition_penalty, 1.05f);
  const Request gguf =
      with_stated(R"({"temp": 0.5, "top_k": -1, "penalty_repeat": 1.5, "xtc_probability": 0.5,
                      "xtc_threshold": 0.25, "mirostat": 2, "mirostat_tau": 4,
                      "mirostat_eta": 0.5})",
                  Naming::kGguf, wrong);
  EXPECT_TRUE(wrong.empty());
  EXPECT_EQ(gguf.sampling.temperature, 0.5f);
  EXPECT_EQ(gguf.sampling.top_k, -1);
  EXPECT_EQ(gguf.sampling.repetition_penalty, 1.5f);
  EXPECT_EQ(gguf.sampling.xtc_probability, 0.5f);
  EXPECT_EQ(gguf.sampling.xtc_threshold, 0.25f);
  // Mirostat could not continue saved texts, so only requests ask for it.
  EXPECT_EQ(gguf.sampling.mirostat, 0);
}

TEST(ModelDefaults, WrongOnesAreSaidAndChangeNothing) {
  const Request usual = default_request(place::kTalk);
  for (const std::string name : {"temperature", "top_p", "min_p", "repetition_penalty", "top_k"}) {
    for (const char* value : {"-2", "\"1\"", "1e10", "[1]", "true"}) {
      std::vector<std::string> lines;
      const Request request =
          with_stated(cat("{\"", name, "\": ", value, "}"), Naming::kHuggingFace, lines);
      ASSERT_EQ(lines.size(), 1u) << name << value;
      EXPECT_TRUE(lines[0].starts_with(cat("m: generation_config.", name, " is "))) << lines[0];
      EXPECT_TRUE(lines[0].ends_with("; it is ignored")) << lines[0];
      const RequestField& field = *find_field(name, place::kSet);
      EXPECT_EQ(field_text(field, request), field_text(field, usual));
    }
  }
  std::vector<std::string> lines;
  const Request gguf =
      with_stated(R"({"temp": -1, "top_k": 1.5, "min_p": 0.5, "top_p": 7})", Naming::kGguf, lines);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_TRUE(lines[0].starts_with("m: general.sampling.temp is -1, possible are values"));
  EXPECT_EQ(gguf.sampling.temperature, usual.sampling.temperature);
  EXPECT_EQ(gguf.sampling.min_p, 0.5f);
}

TEST(ModelDefaults, NumbersOfAnotherTypeHaveTheSameValue) {
  std::vector<std::string> lines;
  const Request request =
      with_stated(R"({"temp": 1, "top_k": 20.0, "top_p": null})", Naming::kGguf, lines);
  EXPECT_TRUE(lines.empty());
  EXPECT_EQ(request.sampling.temperature, 1);
  EXPECT_EQ(request.sampling.top_k, 20);
}

}  // namespace
}  // namespace ingot
