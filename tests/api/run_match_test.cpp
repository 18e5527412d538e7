// The public API against `ingot run`, parameter by parameter.
#include <cstdio>
#include <cstdlib>

#include "api/api_test_util.h"

namespace ingot::api {
namespace {

/// What `ingot run` prints for the prompt and flags.
std::string run_command(const std::string& flags) {
  const char* binary = std::getenv("INGOT_BINARY");
  if (binary == nullptr) return "INGOT_BINARY is not set";
  const std::string command = cat("'", std::string(binary), "' run '" INGOT_TINY_MODEL "' ", flags,
                                  " --json --log-level error 2>&1");
  std::string all;
  std::FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "no pipe";
  char buffer[4096];
  for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) {
    all.append(buffer, n);
  }
  return pclose(pipe) == 0 ? all : "failed: " + all;
}

std::string list(const std::vector<std::int32_t>& ids) {
  std::string all;
  for (const std::int32_t id : ids) all += cat(all.empty() ? "" : ",", id);
  return "[" + all + "]";
}

/// The members of the command's JSON object up to the digest, without the text, which is escaped
/// there.
std::string members(const Result& r) {
  const char* const finish = r.finish == FinishReason::kStop ? "stop" : "length";
  return cat("{\"prompt_ids\":", list(r.prompt_ids), ",\"ids\":", list(r.ids),
             " \"finish_reason\":\"", std::string(finish), "\",\"digest\":\"", r.digest, "\"");
}

std::string without_text(const std::string& json) {
  const std::size_t from = json.find(",\"text\":"), to = json.find("\"finish_reason\"");
  const std::size_t end = json.find(",\"pre");
  if (from == json.npos || to == json.npos || end == json.npos) return json;
  return json.substr(0, from) + " " + json.substr(to, json.find(",", json.find("\"digest\"")) - to);
}

struct RunCase {
  const char* flags;
  void (*set)(Request& r);
};

TEST(RunMatchTest, EveryParameterDoesWhatItsFlagDoes) {
  Engine engine(tiny_options());
  // Sampled from the head's logits, flat enough that every parameter changes something.
  const std::string common = "-p 'the he' --max-tokens 40 --seed 3 ";
  const auto base = [] {
    Request request = text_request("the he", 40);
    request.sampling.seed = 3;
    return request;
  };
  const RunCase cases[] = {
      {"--temperature 2", [](Request&) {}},
      {"--temperature 1", [](Request& r) { r.sampling.temperature = 1; }},
      {"--temperature 2 --seed 4", [](Request& r) { r.sampling.seed = 4; }},
      {"--temperature 2 --top-k 5", [](Request& r) { r.sampling.top_k = 5; }},
      {"--temperature 2 --top-p 0.5", [](Request& r) { r.sampling.top_p = 0.5f; }},
      {"--temperature 2 --min-p 0.2", [](Request& r) { r.sampling.min_p = 0.2f; }},
      {"--temperature 2 --typical-p 0.3", [](Request& r) { r.sampling.typical_p = 0.3f; }},
      {"--temperature 2 --repetition-penalty 3",
       [](Request& r) { r.sampling.repetition_penalty = 3; }},
      {"--temperature 2 --presence-penalty 2", [](Request& r) { r.sampling.presence_penalty = 2; }},
      {"--temperature 2 --frequency-penalty 2",
       [](Request& r) { r.sampling.frequency_penalty = 2; }},
      {"--temperature 2 --logit-bias 300=9,290=8",
       [](Request& r) {
         r.sampling.logit_bias = {{300, 9}, {290, 8}};
       }},
      {"--temperature 2 --top-n-sigma 1", [](Request& r) { r.sampling.top_n_sigma = 1; }},
      {"--temperature 2 --top-k 3 --dry-multiplier 5 --dry-allowed-length 1",
       [](Request& r) {
         r.sampling.top_k = 3;
         r.sampling.dry_multiplier = 5;
         r.sampling.dry_allowed_length = 1;
       }},
      {"--temperature 2 --mirostat 2 --mirostat-tau 2",
       [](Request& r) {
         r.sampling.mirostat = 2;
         r.sampling.mirostat_tau = 2;
       }},
      {"--temperature 2 --xtc-probability 1 --xtc-threshold 0.001",
       [](Request& r) {
         r.sampling.xtc_probability = 1;
         r.sampling.xtc_threshold = 0.001f;
       }},
      {"--temperature 2 --bad-words t --bad-words a",
       [](Request& r) {
         r.sampling.bad_words = {"t", "a"};
       }},
      {"--temperature 2 --allowed-token-ids 290,274",
       [](Request& r) {
         r.sampling.allowed_token_ids = {290, 274};
       }},
      {"--temperature 2 --max-tokens 7", [](Request& r) { r.max_tokens = 7; }},
      {"--temperature 2 --stop t --stop e --stop i --stop o",
       [](Request& r) {
         r.stop = {"t", "e", "i", "o"};
       }},
  };
  std::string unchanged;
  for (const RunCase& c : cases) {
    Request request = base();
    request.sampling.temperature = 2;
    c.set(request);
    const std::string got = members(engine.generate(request));
    EXPECT_NE(got, unchanged) << c.flags;
    if (unchanged.empty()) unchanged = got;
    std::string flags = common;
    // A flag may be given once: the case's own replaces the common one.
    for (const std::string name : {"--seed 3 ", "--max-tokens 40 "}) {
      const std::string flag = name.substr(0, name.find(' '));
      if (std::string(c.flags).find(flag) != std::string::npos) {
        flags.erase(flags.find(name), name.size());
      }
    }
    EXPECT_EQ(got, without_text(run_command(flags + c.flags))) << c.flags;
  }
}

TEST(RunMatchTest, EndTokensAndTheirExceptions) {
  Engine engine(tiny_options());
  const Result free = engine.generate(text_request("the he"));
  const std::int32_t end = free.ids[6];
  std::size_t first = 0;
  while (free.ids[first] != end) ++first;
  Request request = text_request("the he");
  request.stop_token_ids = {end};
  const Result stopped = engine.generate(request);
  EXPECT_EQ(stopped.finish, FinishReason::kStop);
  EXPECT_EQ(stopped.ids.size(), first);
  request.min_tokens = static_cast<std::int64_t>(first) + 1;
  const Result later = engine.generate(request);
  EXPECT_GT(later.ids.size(), first);
  EXPECT_EQ(members(later),
            without_text(run_command(cat("-p 'the he' --max-tokens 24 --stop-token ", end,
                                         " --min-tokens ", first + 1))));
  // The model's own end token, made likely.
  request = text_request("the he");
  request.sampling.logit_bias = {{2, 100}};
  EXPECT_EQ(engine.generate(request).ids.size(), 0u);
  request.ignore_eos = true;
  EXPECT_EQ(engine.generate(request).ids, std::vector<std::int32_t>(24, 2));
}

TEST(RunMatchTest, ChoicesDifferAndLogprobsComeWhereAskedFor) {
  Engine engine(tiny_options());
  Request request = text_request("the he", 8);
  request.sampling.temperature = 2;
  const Result first = engine.generate(request);
  EXPECT_TRUE(first.logprobs.empty());
  EXPECT_TRUE(first.prompt_logprobs.empty());
  request.sampling.choice = 1;
  EXPECT_NE(engine.generate(request).ids, first.ids);
  request.sampling.choice = 0;
  request.logprobs = 2;
  request.prompt_logprobs = 3;
  const Result scored = engine.generate(request);
  EXPECT_EQ(scored.ids, first.ids);
  ASSERT_EQ(scored.logprobs.size(), 8u);
  EXPECT_EQ(scored.logprobs[7].token.id, scored.ids[7]);
  EXPECT_EQ(scored.logprobs[7].top.size(), 2u);
  ASSERT_EQ(scored.prompt_logprobs.size(), 3u);
  EXPECT_EQ(scored.prompt_logprobs[0].token.id, scored.prompt_ids[1]);
  EXPECT_EQ(scored.prompt_logprobs[0].top.size(), 3u);
}

TEST(RunMatchTest, WeightsAreQuantisedAsTheFlagDoesIt) {
  const auto engine_says = [](Weights weights) {
    OpenOptions options = tiny_options();
    options.weights = weights;
    Engine engine(options);
    return members(engine.generate(text_request("the he", 8)));
  };
  const auto run_says = [](const std::string& flags) {
    return without_text(run_command("-p 'the he' --temperature 0 --max-tokens 8 " + flags));
  };
  EXPECT_EQ(engine_says(Weights::kQ8_0), run_says("--weights q8_0"));
  EXPECT_EQ(engine_says(Weights::kQ4_K), run_says("--weights q4_k"));
  EXPECT_EQ(engine_says(Weights::kBF16), run_says("--weights bf16"));
  EXPECT_EQ(engine_says(Weights::kF32), run_says("--weights f32"));
  EXPECT_NE(engine_says(Weights::kQ8_0), engine_says(Weights::kStored));
  EXPECT_NE(engine_says(Weights::kBF16), engine_says(Weights::kStored));
}

TEST(RunMatchTest, KeysAndValuesHaveTheModelsTypeUnlessOneIsNamed) {
  const auto chosen = [](Weights weights, std::optional<KvType> type) {
    OpenOptions options = tiny_options();
    options.weights = weights;
    options.kv_type = type;
    return Engine(options).info().kv_type;
  };
  EXPECT_EQ(chosen(Weights::kStored, std::nullopt), KvType::kF16);
  EXPECT_EQ(chosen(Weights::kF32, std::nullopt), KvType::kF16);
  EXPECT_EQ(chosen(Weights::kBF16, std::nullopt), KvType::kBF16);
  EXPECT_EQ(chosen(Weights::kBF16, KvType::kF16), KvType::kF16);
  EXPECT_EQ(chosen(Weights::kQ8_0, KvType::kInt8), KvType::kInt8);
}

}  // namespace
}  // namespace ingot::api
