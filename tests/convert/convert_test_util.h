// What the tests of conversion share: converting, and running what comes out.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "base/temp_folder_test_util.h"
#include "base/thread_pool.h"
#include "convert/quantise.h"
#include "support/golden_data.h"
#include "support/model_runner.h"

namespace ingot::testing_support {

/// How a test converts.
struct Conversion {
  std::string type = "F32";
  const ImportanceMatrix* importance = nullptr;
  bool tokenizer = false;
  int threads = 2;
};

/// Converts the model at `in` to the file `out`.
inline std::vector<TensorReport> convert(const std::string& in, const std::string& out,
                                         const Conversion& how) {
  ThreadPool pool(how.threads);
  const auto checkpoint = Checkpoint::open(in);
  const QuantisePlan plan = plan_quantised(
      *checkpoint,
      {.recipe = find_recipe(how.type), .importance = how.importance, .tokenizer = how.tokenizer});
  return write_quantised(*checkpoint, plan, out, pool, [](std::uint64_t, std::uint64_t) {});
}

/// Logits of every position of all prompts, with keys and values in F32. BF16 matrices are widened,
/// so that files of other types give equal bits.
inline std::vector<float> logits_of(const std::string& model,
                                    const std::vector<std::vector<std::int32_t>>& prompts) {
  std::vector<float> all;
  const auto checkpoint = Checkpoint::open(model);
  std::int32_t longest = 0;
  for (const auto& p : prompts) longest = std::max(longest, static_cast<std::int32_t>(p.size()));
  ModelRunner runner(*checkpoint, {.threads = 2,
                                   .kv_type = KvType::kF32,
                                   .model = {.weights = widened(model)},
                                   .context = longest,
                                   .rows = longest,
                                   .sequences = 1});
  for (const auto& prompt : prompts) {
    const auto rows = runner.run({prompt}, whole({prompt}));
    all.insert(all.end(), rows.front().begin(), rows.front().end());
  }
  return all;
}

/// Root of the mean squared difference.
inline double rms(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double sum = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double difference = static_cast<double>(a[i]) - b[i];
    sum += difference * difference;
  }
  return std::sqrt(sum / static_cast<double>(a.size()));
}

/// Root of the mean square about the mean.
inline double spread(const std::vector<float>& values) {
  double sum = 0;
  for (const float v : values) sum += v;
  const auto mean = static_cast<float>(sum / static_cast<double>(values.size()));
  return rms(values, std::vector<float>(values.size(), mean));
}

}  // namespace ingot::testing_support
