// Models of all families against their references: logits, and equal bits for other steps.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/shared_data_test_util.h"
#include "base/text.h"
#include "support/golden_data.h"
#include "support/model_runner.h"

namespace ingot::testing_support {
namespace {

namespace fs = std::filesystem;

/// The limit on a logit's error in standard deviations of the reference's logits.
constexpr double kBound = 2e-3;

double standard_deviation(const std::vector<float>& values) {
  double sum = 0, squares = 0;
  for (const float v : values) sum += v;
  const double mean = sum / static_cast<double>(values.size());
  for (const float v : values) squares += (v - mean) * (v - mean);
  return std::sqrt(squares / static_cast<double>(values.size()));
}

/// The largest distance; infinite when anything is NaN or sizes differ.
double largest_error(const std::vector<float>& got, const std::vector<float>& want) {
  double largest = got.size() == want.size() ? 0 : std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < std::min(got.size(), want.size()); ++i) {
    const double error = std::fabs(static_cast<double>(got[i]) - static_cast<double>(want[i]));
    if (std::isnan(error)) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, error);
  }
  return largest;
}

/// The prompts' rows, one prompt after the other, from steps that hold rows of all prompts.
std::vector<float> logits_of(const fs::path& model,
                             const std::vector<std::vector<std::int32_t>>& prompts,
                             std::int32_t rows, const RunnerOptions& options) {
  std::vector<std::vector<Chunk>> schedule;
  for (std::int32_t done = 0;; done += rows) {
    std::vector<Chunk> step;
    for (std::size_t s = 0; s < prompts.size(); ++s) {
      const auto left = static_cast<std::int32_t>(prompts[s].size()) - done;
      if (left > 0) step.push_back({s, std::min(rows, left)});
    }
    if (step.empty()) break;
    schedule.push_back(step);
  }
  const auto checkpoint = Checkpoint::open(model.string());
  ModelRunner runner(*checkpoint, options);
  std::vector<float> all;
  for (const auto& out : runner.run(prompts, schedule))
    all.insert(all.end(), out.begin(), out.end());
  return all;
}

/// The original context of a longrope model, up to which it has the short factors. 0: the model has
/// another embedding.
std::int64_t longrope_context(const fs::path& model) {
  const auto checkpoint = Checkpoint::open(model.string());
  const RopeScaling& scaling = checkpoint->config().ropes.front().scaling;
  const bool is_longrope = scaling.kind == RopeScaling::Kind::kLongrope;
  return is_longrope ? static_cast<std::int64_t>(scaling.original_context) : 0;
}

/// The largest error in standard deviations of the reference, whose first rows `got` has.
double error_against(const fs::path& reference, const std::vector<float>& got) {
  std::vector<float> want = read_matrix(reference).values;
  const double deviation = standard_deviation(want);
  if (got.size() < want.size()) want.resize(got.size());
  return largest_error(got, want) / deviation;
}

/// A longrope model with its original context has the short factors.
void check_short_factors(const fs::path& model, const fs::path& folder, std::int64_t context) {
  auto prompts = read_prompts(folder);
  while (std::ssize(prompts.back()) > context) prompts.pop_back();
  const auto got = logits_of(
      model, prompts, 128,
      {.kv_type = KvType::kF32, .model = {.weights = widened(model)}, .context = context});
  EXPECT_FALSE(got.empty());
  EXPECT_LE(error_against(folder / "logits_short.npy", got), kBound);
}

void check(const fs::path& model, const fs::path& folder) {
  SCOPED_TRACE(model.filename().string());
  const auto prompts = read_prompts(folder);
  const auto run = [&](std::int32_t rows, KvType type, int threads,
                       std::optional<Format> weights = {}) {
    return logits_of(
        model, prompts, rows,
        {.threads = threads, .kv_type = type, .model = {.weights = weights}, .context = 128});
  };
  const std::optional<Format> exact = widened(model);
  const auto whole = run(128, KvType::kF32, 1, exact);
  const std::int64_t original = longrope_context(model);
  const double error =
      error_against(folder / (original > 0 ? "logits_long.npy" : "logits.npy"), whole);
  EXPECT_EQ(whole.size(), read_matrix(folder / "logits.npy").values.size());
  EXPECT_LE(error, kBound);
  ::testing::Test::RecordProperty(model.filename().string(), cat(error));
  if (original > 0) check_short_factors(model, folder, original);
  EXPECT_EQ(run(5, KvType::kF32, 2, exact), whole) << "in steps of 5 rows";
  EXPECT_EQ(run(7, KvType::kInt8, 1), run(128, KvType::kInt8, 2)) << "with 8-bit keys";
  EXPECT_EQ(run(9, KvType::kBF16, 2), run(128, KvType::kBF16, 1)) << "with BF16 keys";
}

/// Runs a check for each entry; one failure does not hide the others.
template <class Check>
void for_each_entry(std::string_view folder, Check check_one) {
  const auto entries = shared_entries(folder);
  EXPECT_FALSE(entries.empty());
  for (const fs::path& entry : entries) {
    try {
      check_one(entry);
    } catch (const std::exception& error) {
      ADD_FAILURE() << entry.filename().string() << ": " << error.what();
    }
  }
}

TEST(Families, HuggingFaceFolders) {
  INGOT_NEEDS_SHARED("references/families");
  for_each_entry("references/families", [](const fs::path& model) {
    if (fs::is_directory(model)) check(model, model);
  });
}

/// Whether a GGUF file states all that the folder of its name states. The others lack: that yarn's
/// range is not rounded; a window; the two factors of yarn's scale, which differ.
bool states_all(const fs::path& file) {
  static const std::set<std::string> kSilent{"gpt_oss.gguf", "starcoder2.gguf",
                                             "deepseek_v2-lite.gguf"};
  return kSilent.count(file.filename().string()) == 0;
}

TEST(Families, GgufFiles) {
  INGOT_NEEDS_SHARED("references/families-gguf");
  for_each_entry("references/families-gguf", [](const fs::path& file) {
    if (file.extension() != ".gguf" || !states_all(file)) return;
    check(file, shared_folder("references/families") / file.stem());
  });
}

/// An encoder's rows for texts, all in one step. [sum of lengths, H]
std::vector<float> hidden_of(const fs::path& model,
                             const std::vector<std::vector<std::int32_t>>& texts, int threads) {
  const auto checkpoint = Checkpoint::open(model.string());
  ModelRunner runner(*checkpoint, {.threads = threads,
                                   .kv_type = KvType::kF32,
                                   .model = {.head = false, .weights = widened(model)},
                                   .context = 128,
                                   .rows = 2048,
                                   .sequences = 16});
  std::vector<float> all;
  for (const auto& out : runner.run(texts, whole(texts), Output::kHiddenNormed)) {
    all.insert(all.end(), out.begin(), out.end());
  }
  return all;
}

TEST(Families, EncodersGiveHiddenStatesThatDoNotDependOnTheBatch) {
  INGOT_NEEDS_SHARED("references/embeddings");
  for_each_entry("references/embeddings", [](const fs::path& model) {
    if (!fs::exists(model / "model.safetensors")) return;
    SCOPED_TRACE(model.filename().string());
    std::vector<std::vector<std::int32_t>> texts;
    const std::string name = (model / "inputs.json").string();
    const Json j = parse_json(read_file(name), name, "inputs");
    for (const Json& text : *j.find("inputs")->as_array()) texts.push_back(ints(text));
    const Matrix want = read_matrix(model / "hidden_last.npy");
    const auto alone = hidden_of(model, {texts.back()}, 1);
    const float most = *std::max_element(want.values.begin(), want.values.end());
    EXPECT_LE(largest_error(alone, want.values), 1e-4 * static_cast<double>(most));
    const auto all = hidden_of(model, texts, 2);
    ASSERT_GE(all.size(), alone.size());
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), all.end() - std::ssize(alone)));
  });
}

}  // namespace
}  // namespace ingot::testing_support
