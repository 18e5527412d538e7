// Tests of adapter_config.json: what matching its keys and expressions costs, in steps.
#include "load/adapter/peft_config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/text.h"

namespace ingot {
namespace {

/// A configuration with these members behind the rank.
PeftConfig config_of(std::string_view members, std::uint64_t steps_max = kConfigStepsMax) {
  const std::string text = cat(R"({"peft_type": "LORA", "r": 2, "lora_alpha": 4, )", members, "}");
  return {parse_json_file(text, "adapter_config.json", "config", kAdapterConfigLimits),
          "adapter_config.json", steps_max};
}

std::string module_name(int layer) { return cat("model.layers.", layer, ".self_attn.q_proj"); }

/// A rank_pattern that gives layer i the rank i + 1.
std::string ranks_of_layers(int layers) {
  std::string keys;
  for (int i = 0; i < layers; ++i)
    keys += cat(i == 0 ? "" : ", ", "\"", module_name(i), "\": ", i + 1);
  return cat(R"("target_modules": ["q_proj"], "rank_pattern": {)", keys, "}");
}

/// Calls `use` with the names of `modules` modules. Returns the error's message; "" without one.
template <class Use>
std::string message_of(int modules, Use use) {
  try {
    for (int i = 0; i < modules; ++i) use(module_name(i));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kModel);
    return error.message();
  }
  return {};
}

TEST(PeftConfig, AModuleIsNotComparedWithEachKey) {
  constexpr int kModules = 4000;
  const PeftConfig few = config_of(ranks_of_layers(1000));
  const PeftConfig many = config_of(ranks_of_layers(kModules));
  for (int i = 0; i < kModules; ++i) {
    EXPECT_EQ(few.rank(module_name(i)), i < 1000 ? i + 1 : 2) << i;
    EXPECT_EQ(many.rank(module_name(i)), i + 1) << i;
  }
  // Keys have one outline for each number of digits.
  EXPECT_LE(many.steps(), few.steps() + kModules * (module_name(kModules).size() + 1));
  EXPECT_LE(many.steps(), kModules * (module_name(kModules).size() + 1));
}

TEST(PeftConfig, WholeNamesAreNotComparedWithEachKey) {
  constexpr int kModules = 5000;  // more than there may be expressions
  std::string keys;
  for (int i = 0; i < kModules; ++i)
    keys += cat(i == 0 ? "" : ", ", "\"^", module_name(i), "\": ", i + 3);
  const PeftConfig config =
      config_of(cat(R"("target_modules": ["q_proj"], "rank_pattern": {)", keys, "}"));
  for (int i = 0; i < kModules; ++i) {
    EXPECT_EQ(config.rank(module_name(i)), i + 3);
    EXPECT_EQ(config.rank(cat("x.", module_name(i))), 2) << "no whole name";
  }
  EXPECT_EQ(config.rank("model.layers.77xself_attn.q_proj"), 80) << "a dot is any character";
  EXPECT_LE(config.steps(), 3 * kModules * (module_name(kModules).size() + 1));
}

TEST(PeftConfig, AnExpressionForEachLayerOfManyExperts) {
  constexpr int kLayers = 48, kExperts = 128;
  std::string keys;
  for (int i = 0; i < kLayers; ++i)
    keys += cat(i == 0 ? "" : ", ", R"("layers\\.)", i, R"(\\..*": )", i + 1);
  PeftConfig config = config_of(cat(R"("target_modules": ["up_proj"], "rank_pattern": {)", keys,
                                    R"(}, "alpha_pattern": {)", keys, "}"));
  config.allow_pairs(3 * kLayers * kExperts);
  for (int layer = 0; layer < kLayers; ++layer) {
    for (int expert = 0; expert < kExperts; ++expert) {
      for (const std::string_view role : {"gate_proj", "up_proj", "down_proj"}) {
        const std::string name = cat("model.layers.", layer, ".mlp.experts.", expert, ".", role);
        EXPECT_EQ(config.rank(name), layer + 1);
        EXPECT_EQ(config.alpha(name), layer + 1);
      }
    }
  }
  EXPECT_GT(config.steps(), kConfigStepsMax) << "the pairs need steps of their own";
}

TEST(PeftConfig, KeysOfManyKindsAreRefusedByCount) {
  // In each key other characters of the name are dots, which match any character.
  const std::string name = module_name(7);
  std::string keys;
  for (unsigned bits = 0; bits < 4096; ++bits) {
    std::string key = name;
    for (unsigned i = 0; i < 12; ++i) key[i] = (bits >> i & 1) != 0 ? '.' : 'x';
    keys += cat(bits == 0 ? "" : ", ", "\"", key, "\": ", bits + 1);
  }
  const PeftConfig config =
      config_of(cat(R"("target_modules": ["q_proj"], "rank_pattern": {)", keys, "}"), 1'000'000);
  EXPECT_EQ(config.rank(name), 4096);  // all twelve characters are dots
  const std::string message =
      message_of(10, [&](const std::string& module) { return config.rank(module); });
  EXPECT_NE(message.find("rank_pattern has too many kinds of keys"), std::string::npos) << message;
  EXPECT_NE(message.find("more than 1000000 steps"), std::string::npos) << message;
  EXPECT_EQ(config.steps(), 1'000'000u);
}

TEST(PeftConfig, AskingAgainCostsNothing) {
  const PeftConfig config = config_of(R"~("target_modules": ".*\\.(q|v)_proj")~");
  EXPECT_TRUE(config.targets(module_name(1)));
  EXPECT_FALSE(config.targets("model.layers.1.self_attn.k_proj"));
  const std::uint64_t steps = config.steps();
  EXPECT_GT(steps, 20u);
  EXPECT_TRUE(config.targets(module_name(1)));
  EXPECT_FALSE(config.targets("model.layers.1.self_attn.k_proj"));
  EXPECT_EQ(config.steps(), steps);
}

TEST(PeftConfig, ExpressionsOfAFileShareABudget) {
  constexpr std::uint64_t kSteps = 10'000;
  for (
      const auto& [members, key] : std::vector<std::pair<std::string_view, std::string_view>>{
          {R"~("target_modules": ".*\\.(q|v)_proj")~", "target_modules"},
          {R"~("target_modules": ["q_proj"], "exclude_modules": ".*\\.(k|v)_proj")~",
           "exclude_modules"},
          {R"~("target_modules": ["q_proj"], "layers_to_transform": 7, "layers_pattern": "(h|b)")~",
           "layers_pattern"},
          {R"~("target_modules": ["q_proj"], "alpha_pattern": {".*(k|v)_proj": 1})~",
           "alpha_pattern"}}) {
    const auto use = [](const PeftConfig& config) {
      return [&](const std::string& module) {
        config.targets(module);
        config.alpha(module);
      };
    };
    const PeftConfig small = config_of(members, kSteps);
    const std::string message = message_of(1000, use(small));
    EXPECT_NE(message.find(cat(key, " has the expression '")), std::string::npos) << message;
    EXPECT_NE(message.find("takes more than 10000 steps"), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_EQ(small.steps(), kSteps) << key;
    const PeftConfig usual = config_of(members);
    EXPECT_EQ(message_of(1000, use(usual)), "") << key;
    EXPECT_GT(usual.steps(), kSteps) << key;
    EXPECT_LT(usual.steps(), 1'000'000u) << key;
  }
}

}  // namespace
}  // namespace ingot
