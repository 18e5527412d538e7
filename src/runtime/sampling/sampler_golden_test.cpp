// Sampling against exact distributions: sets of ids, probabilities, log-probabilities, and the
// frequencies of seeded draws.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <string>

#include "base/shared_data_test_util.h"
#include "base/text.h"
#include "load/json.h"
#include "runtime/sampling/row_sampler.h"
#include "runtime/sampling/sampler_test_util.h"

namespace ingot::testing {
namespace {

constexpr const char* kFolder = "goldens/sampling";
/// Tokens below it count as impossible on either side.
constexpr double kMin = 1e-30;

struct Golden {
  std::string name;
  TestRow row;
  std::vector<TokenProbability> probabilities;
  std::vector<TokenScore> logprobs;
};

double number(const Json& json) { return *json.number(); }
std::int32_t id_of(const Json& json) { return static_cast<std::int32_t>(*json.as_int()); }

/// Sets the parameter of that name; false where there is none.
bool set_number(SamplingParams& p, const std::string& name, double value) {
  const auto set = [&](const char* wanted, auto& to) {
    if (name == wanted) to = static_cast<std::remove_reference_t<decltype(to)>>(value);
    return name == wanted;
  };
  return set("repetition_penalty", p.repetition_penalty) ||
         set("presence_penalty", p.presence_penalty) ||
         set("frequency_penalty", p.frequency_penalty) || set("min_tokens", p.min_tokens) ||
         set("temperature", p.temperature) || set("top_k", p.top_k) ||
         set("typical_p", p.typical_p) || set("top_p", p.top_p) || set("min_p", p.min_p);
}

SamplingParams params_of(const Json& json) {
  SamplingParams p{.temperature = 1};
  for (const auto& [name, value] : *json.as_object()) {
    if (name == "logit_bias") {
      std::map<std::int32_t, float> biases;
      for (const auto& [id, bias] : *value.as_object()) {
        biases[std::stoi(id)] = static_cast<float>(number(bias));
      }
      for (const auto& [id, bias] : biases) p.logit_bias.push_back({id, bias});
    } else if (name == "eos") {
      for (const Json& id : *value.as_array()) p.end_ids.push_back(id_of(id));
    } else {
      EXPECT_TRUE(set_number(p, name, number(value))) << "parameter " << name;
    }
  }
  return p;
}

Golden golden_of(const Json& json) {
  Golden g;
  g.name = *json.find("name")->as_string();
  for (const Json& x : *json.find("logits")->as_array()) {
    g.row.logits.push_back(x.as_string() != nullptr ? -kInf : static_cast<float>(number(x)));
  }
  for (const Json& id : *json.find("prompt")->as_array()) g.row.counts.add_prompt(id_of(id));
  for (const Json& id : *json.find("generated")->as_array()) {
    g.row.counts.add_generated(id_of(id));
    ++g.row.index;
  }
  g.row.params = params_of(*json.find("params"));
  for (const Json& pair : *json.find("probs")->as_array()) {
    g.probabilities.push_back({id_of((*pair.as_array())[0]), number((*pair.as_array())[1])});
  }
  if (const Json* logprobs = json.find("logprobs")) {
    for (const Json& pair : *logprobs->as_array()) {
      g.logprobs.push_back(
          {id_of((*pair.as_array())[0]), static_cast<float>(number((*pair.as_array())[1]))});
    }
    g.row.params.logprobs = static_cast<std::int32_t>(g.logprobs.size());
  }
  return g;
}

std::vector<Golden> goldens() {
  std::vector<Golden> all;
  for (const auto& path : shared_entries(kFolder)) {
    if (path.extension() != ".jsonl") continue;
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) {
      all.push_back(golden_of(parse_json(line, path.string(), "case")));
    }
  }
  return all;
}

/// The relative error that float32 arithmetic may make.
double tolerance(const Golden& g) {
  const double t = double{g.row.params.temperature};
  int exponent = 0;
  const bool power_of_two = t > 0 && std::frexp(t, &exponent) == 0.5;
  const auto huge = [](float x) { return std::isfinite(x) && std::abs(x) >= 5000; };
  const bool any = std::any_of(g.row.logits.begin(), g.row.logits.end(), huge);
  return any && !power_of_two ? 1e-3 : 1e-4;
}

std::map<std::int32_t, double> by_id(const std::vector<TokenProbability>& tokens) {
  std::map<std::int32_t, double> map;
  for (const auto& [id, p] : tokens) {
    if (p >= kMin) map[id] = p;
  }
  return map;
}

TEST(SamplerGolden, SetsAndProbabilities) {
  INGOT_NEEDS_SHARED(kFolder);
  auto all = goldens();
  EXPECT_GT(all.size(), 100u);
  for (Golden& g : all) {
    for (const HostKernels* kernels : host_kernels()) {
      SCOPED_TRACE(cat(g.name, " ", std::string_view(kernels->name)));
      const auto got = by_id(distribution(g.row, *kernels));
      const auto want = by_id(g.probabilities);
      double sum = 0;
      ASSERT_EQ(got.size(), want.size());
      for (const auto& [id, p] : got) {
        ASSERT_TRUE(want.contains(id)) << id;
        EXPECT_NEAR(p, want.at(id), tolerance(g) * want.at(id)) << id;
        sum += p;
      }
      EXPECT_NEAR(sum, 1, 1e-5);
    }
  }
}

TEST(SamplerGolden, Logprobs) {
  INGOT_NEEDS_SHARED(kFolder);
  int seen = 0;
  for (Golden& g : goldens()) {
    if (g.logprobs.empty()) continue;
    for (const HostKernels* kernels : host_kernels()) {
      SCOPED_TRACE(cat(g.name, " ", std::string_view(kernels->name)));
      const Drawn drawn = draw(g.row, *kernels);
      ASSERT_EQ(drawn.top.size(), g.logprobs.size());
      for (std::size_t i = 0; i < drawn.top.size(); ++i) {
        EXPECT_EQ(drawn.top[i].id, g.logprobs[i].id);
        const float want = g.logprobs[i].logprob;
        EXPECT_NEAR(drawn.top[i].logprob, want, 1e-5 + 1e-6 * std::abs(want));
        if (drawn.id == g.logprobs[i].id) {
          EXPECT_EQ(drawn.logprob, drawn.top[i].logprob);
        }
      }
      ++seen;
    }
  }
  EXPECT_GT(seen, 5);
}

/// Compares counts with expectations; tokens that are expected fewer than ten times form one group.
void expect_fit(const std::map<std::int32_t, double>& p, std::vector<int> counts, double draws) {
  double chi_square = 0;
  std::size_t groups = 0;
  double rare_expected = 0;
  double rare = 0;
  const auto add = [&](double count, double expected) {
    chi_square += (count - expected) * (count - expected) / expected;
    ++groups;
  };
  for (const auto& [id, probability] : p) {
    const double expected = probability * draws;
    const int count = std::exchange(counts[static_cast<std::size_t>(id)], 0);
    if (expected >= 10) {
      add(count, expected);
    } else {
      rare += count;
      rare_expected += expected;
    }
  }
  for (std::size_t id = 0; id < counts.size(); ++id) {
    EXPECT_EQ(counts[id], 0) << "of impossible token " << id;
  }
  if (rare_expected >= 10) {
    add(rare, rare_expected);
  } else {
    EXPECT_LE(rare, rare_expected + 60);
  }
  if (groups > 1) {
    EXPECT_LT(chi_square, chi_square_limit(groups - 1));
  }
}

TEST(SamplerGolden, FrequenciesOfSeededDraws) {
  INGOT_NEEDS_SHARED(kFolder);
#ifdef INGOT_SANITIZED
  constexpr int kDraws = 2'000;
#else
  constexpr int kDraws = 30'000;
#endif
  std::uint64_t seed = 4107;
  for (Golden& g : goldens()) {
    SCOPED_TRACE(g.name);
    RowSampler sampler(*host_kernels().back(), g.row.vocab(), g.row.vocab());
    g.row.params.seed = ++seed;
    Drawn drawn;
    ASSERT_TRUE(sampler.prepare(g.row.row(), drawn));
    std::vector<int> counts(g.row.logits.size());
    for (std::uint64_t i = 0; i < kDraws; ++i) {
      const std::int32_t id = sampler.pick(DrawNoise(g.row.params, i));
      ASSERT_TRUE(id >= 0 && id < g.row.vocab());
      ++counts[static_cast<std::size_t>(id)];
    }
    expect_fit(by_id(g.probabilities), counts, kDraws);
  }
}

}  // namespace
}  // namespace ingot::testing
