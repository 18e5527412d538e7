// Random damage to safetensors files, indexes and configs: success or one line, and what is
// accepted is sound.
#include <gtest/gtest.h>

#include <random>

#include "load/hf/hf_fuzz_checks.h"
#include "load/hf/hf_test_util.h"

namespace ingot {
namespace {

using namespace testing_hf;

/// Pieces that push parsers towards their edges.
constexpr std::string_view kWords[] = {
    "0", "-1", "1e308",   "18446744073709551616", "null", "true", "[]",   "{}",   "\"\"",   ",",
    "]", "[[", "\\u0000", "9223372036854775807",  "-0",   "1.5",  "../a", "\xff", "\"a\":", "2"};

class Damage {
 public:
  explicit Damage(std::uint64_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t n) { return random_() % n; }

  /// A copy of `text` with one to four changes.
  std::string apply(std::string text) {
    for (std::uint64_t changes = 1 + below(4); changes > 0 && !text.empty(); --changes) {
      const std::size_t at = below(text.size());
      switch (below(6)) {
        case 0:
        case 1:
          text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
          break;
        case 2:
          text[at] = static_cast<char>(below(256));
          break;
        case 3:
          text.erase(at, 1 + below(8));
          break;
        case 4:
          text.insert(at, kWords[below(std::size(kWords))]);
          break;
        default: {
          const std::string_view word = kWords[below(std::size(kWords))];
          text.replace(at, 1 + below(word.size()), word);
        }
      }
    }
    return text;
  }

  std::string noise() {
    std::string text(below(200), '\0');
    for (char& c : text) c = static_cast<char>(below(256));
    return text;
  }

 private:
  std::mt19937_64 random_;
};

/// Damages each of `seeds` in turn, and feeds noise in between.
template <class Check>
void run(const std::vector<std::string>& seeds, Check check) {
  for (const std::string& seed : seeds) EXPECT_TRUE(check(seed)) << seed;
  Damage damage(20240731);
  int accepted = 0;
  for (int i = 0; i < damaged_files(); ++i) {
    const std::string& seed = seeds[static_cast<std::size_t>(i) % seeds.size()];
    accepted += check(i % 8 == 7 ? damage.noise() : damage.apply(seed)) ? 1 : 0;
  }
  // Some damage is harmless: the checks of what is accepted were reached.
  EXPECT_GT(accepted, 0);
}

TEST(HfRandom, Safetensors) {
  run({small_safetensors({"a", "b"}),
       safetensors_file(R"({"__metadata__":{"format":"pt"},)" +
                            tensor_entry("x", "BF16", "[2,2]", "[0,8]") + "," +
                            tensor_entry("e", "I64", "[0]", "[8,8]") + "}  ",
                        "12345678")},
      [](const std::string& bytes) { return check_safetensors(bytes_of(bytes)); });
}

TEST(HfRandom, Index) {
  run({R"({"metadata":{"total_size":24},
           "weight_map":{"a":"m-1.safetensors","b":"m-2.safetensors"}})",
       R"({"weight_map":{"a":"x.safetensors"}})"},
      [](const std::string& text) { return check_index(text); });
}

TEST(HfRandom, Config) {
  const std::string yarn =
      R"({"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32})";
  run({ConfigText().set("rope_scaling", yarn).set("eos_token_id", "[1, 2]").text(),
       ConfigText("mistral").set("sliding_window", "8").set("bos_token_id", "1").text(),
       ConfigText("qwen3")
           .set("layer_types", R"(["full_attention", "sliding_attention",
           "full_attention", "full_attention"])")
           .set("sliding_window", "8")
           .set("use_sliding_window", "true")
           .text(),
       ConfigText("qwen3_moe").set("mlp_only_layers", "[0, 1]").text() + std::string("\0", 1) +
           R"({"eos_token_id": [3], "bos_token_id": 4})"},
      [](const std::string& text) { return check_config(text); });
}

/// Each family's config.json, damaged: success or one line.
TEST(HfRandom, ConfigsOfAllFamilies) {
  std::vector<std::string> seeds;
  for (const char* place : {"references/families", "references/embeddings", "references/rerank"}) {
    const auto folder = shared_folder(place);
    if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder;
    for (const auto& entry : entries(folder)) {
      if (!std::filesystem::exists(entry / "config.json")) continue;
      seeds.push_back(read_file(entry / "config.json"));
    }
  }
  EXPECT_GE(damaged_files(), 20 * std::ssize(seeds));
  run(seeds, [](const std::string& text) { return check_config(text); });
}

TEST(HfRandom, Embedder) {
  const std::string nul(1, '\0');
  const std::string modules =
      R"([{"path": "", "type": "sentence_transformers.models.Transformer"},
          {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
          {"path": "2_Dense", "type": "sentence_transformers.models.Dense"},
          {"path": "3_Normalize", "type": "sentence_transformers.models.Normalize"}])";
  const std::string dense = R"({"in_features": 64, "out_features": 32, "bias": true,
      "activation_function": "torch.nn.modules.activation.Tanh"})";
  const std::string prompts = R"({"prompts": {"query": "q: "}, "default_prompt_name": "query"})";
  run({modules + nul + R"({"pooling_mode_mean_tokens": true})" + nul + dense + nul + prompts + nul +
       R"({"max_seq_length": 128, "do_lower_case": false})"},
      [](const std::string& text) { return check_embedder(text); });
}

}  // namespace
}  // namespace ingot
