// Synthetic models of every kind: their files open and run, in equal bits for other steps, with
// other types of keys, and what a step reads is what the files hold for it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "convert/convert_test_util.h"
#include "convert/synthetic.h"
#include "model/step_cost.h"
#include "quant/formats.h"

namespace ingot::testing_support {
namespace {

using Prompts = std::vector<std::vector<std::int32_t>>;

/// The shapes for tests, which are small.
std::vector<const SyntheticShape*> tiny_shapes() {
  std::vector<const SyntheticShape*> shapes;
  for (const SyntheticShape& shape : synthetic_shapes()) {
    if (shape.name.starts_with("tiny")) shapes.push_back(&shape);
  }
  return shapes;
}

std::unique_ptr<Checkpoint> written(const SyntheticShape& shape, std::string_view type,
                                    const std::string& path) {
  ThreadPool pool(2);
  const SyntheticPlan plan = plan_synthetic(shape, *synthetic_recipe(type), shape.layers, 7);
  write_synthetic(plan, path, pool, [](std::uint64_t, std::uint64_t) {});
  return Checkpoint::open(path);
}

Prompts prompts() {
  Prompts all;
  for (const std::size_t length : {1, 23, 70}) {
    auto& prompt = all.emplace_back();
    for (std::size_t i = 0; i < length; ++i) {
      prompt.push_back(static_cast<std::int32_t>((7 * i + length) % 500));
    }
  }
  return all;
}

/// Steps of up to `rows` rows of each prompt.
std::vector<std::vector<Chunk>> in_chunks(const Prompts& all, std::int32_t rows) {
  std::vector<std::vector<Chunk>> schedule;
  for (std::int32_t done = 0;; done += rows) {
    std::vector<Chunk> step;
    for (std::size_t s = 0; s < all.size(); ++s) {
      const auto left = static_cast<std::int32_t>(all[s].size()) - done;
      if (left > 0) step.push_back({s, std::min(rows, left)});
    }
    if (step.empty()) return schedule;
    schedule.push_back(step);
  }
}

RunnerOptions options_of(const Checkpoint& checkpoint, KvType type, int threads) {
  RunnerOptions options{.threads = threads, .kv_type = type, .context = 128};
  options.model.head = checkpoint.config().causal;
  return options;
}

/// A decoder's logits for prompts in steps of `rows` rows; an encoder's hidden states.
std::vector<std::vector<float>> results(Checkpoint& checkpoint, std::int32_t rows, KvType type,
                                        int threads) {
  ModelRunner runner(checkpoint, options_of(checkpoint, type, threads));
  const bool causal = checkpoint.config().causal;
  return runner.run(prompts(), in_chunks(prompts(), rows),
                    causal ? Output::kLogits : Output::kHiddenNormed);
}

void expect_finite(const std::vector<std::vector<float>>& rows) {
  for (const auto& row : rows) {
    EXPECT_TRUE(std::all_of(row.begin(), row.end(), [](float v) { return std::isfinite(v); }));
    EXPECT_TRUE(std::any_of(row.begin(), row.end(), [](float v) { return v != 0; }));
  }
}

TEST(SyntheticModels, GiveEqualBitsForOtherSteps) {
  const TempFolder temp;
  for (const SyntheticShape* shape : tiny_shapes()) {
    for (const char* type : {"Q4_K_M", "BF16"}) {
      SCOPED_TRACE(cat(shape->name, " ", type));
      const auto checkpoint = written(*shape, type, temp.path("m.gguf"));
      const bool causal = checkpoint->config().causal;
      // An encoder reads a text in one step.
      const std::int32_t few = causal ? 5 : 128;
      for (const KvType kv :
           causal ? std::vector{KvType::kF16, KvType::kInt8} : std::vector{KvType::kF32}) {
        const auto whole = results(*checkpoint, 128, kv, 1);
        expect_finite(whole);
        EXPECT_EQ(results(*checkpoint, few, kv, 2), whole);
      }
    }
  }
}

/// The bytes of a file's tensors that one token needs: used experts, one row of looked-up tables.
double bytes_of_token(const Checkpoint& checkpoint, const Spec& spec) {
  double sum = 0;
  for (const TensorInfo& t : checkpoint.tensors()) {
    const auto bytes = static_cast<double>(t.bytes);
    const bool looked_up =
        (t.name == "token_embd.weight" && !spec.tied) || t.name == "per_layer_token_embd.weight";
    const bool routed = t.name.find("_exps.") != std::string::npos;
    if (looked_up) {
      sum += bytes / static_cast<double>(t.shape.front());
    } else {
      sum += routed ? bytes * spec.moe.used / spec.moe.experts : bytes;
    }
  }
  return sum;
}

TEST(SyntheticModels, AStepReadsWhatTheFileHoldsForIt) {
  // In memory, rows of matrices fill whole panels.
  constexpr double kPadding = 1.05;
  const TempFolder temp;
  for (const SyntheticShape* shape : tiny_shapes()) {
    SCOPED_TRACE(std::string(shape->name));
    const auto checkpoint = written(*shape, "F32", temp.path("m.gguf"));
    if (!checkpoint->config().causal) continue;
    ModelRunner runner(*checkpoint, options_of(*checkpoint, KvType::kF16, 1));
    const Model& model = runner.executor().model();
    const std::vector<KvCost> no_keys(model.layers.size());
    const double bytes =
        step_cost(model, no_keys, std::vector<SequenceRows>{{.rows = 1, .kv_len = 1, .outputs = 1}})
            .bytes;
    const double expected = bytes_of_token(*checkpoint, runner.spec());
    EXPECT_GE(bytes, expected * 0.999);
    EXPECT_LE(bytes, expected * kPadding);
  }
}

}  // namespace
}  // namespace ingot::testing_support
