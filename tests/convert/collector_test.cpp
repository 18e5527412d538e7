// Collecting an importance matrix: what is added up, that nothing changes it, and that it changes
// nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "backend/cpu/cpu_backend.h"
#include "base/text.h"
#include "convert/convert_test_util.h"
#include "convert/importance_collector.h"
#include "convert/recipe.h"
#include "quant/formats.h"
#include "support/random_model.h"

namespace ingot::testing_support {
namespace {

/// A model whose backend is observed.
class Watched {
 public:
  Watched(Checkpoint& checkpoint, int threads, bool observe)
      : pool_(threads), backend_(pool_, *kernel_tables().back()), collector_(pool_) {
    if (observe) backend_.observe(&collector_);
    const BoundModel bound = bind_model(checkpoint);
    const ModelOptions options{.context = kContext};
    model_ = load_model(checkpoint, bound, backend_, options, [](std::uint64_t, std::uint64_t) {});
    auto groups = kv_groups(backend_, model_->kv_uses(), KvType::kF16);
    const auto blocks = kv_blocks(groups, kContext, 1, kContext);
    cache_ = std::make_unique<KvCache>(backend_, std::move(groups), KvType::kF16, blocks);
    executor_ = std::make_unique<Executor>(
        *model_, backend_, *cache_,
        ExecutorLimits{
            .rows = kContext, .out_rows = kContext, .sequences = 1, .context = kContext});
    collector_.watch(*model_);
  }

  /// Runs tokens in steps of `step` rows and returns the hidden states, which the collector sees as
  /// the head's inputs.
  std::vector<float> run(const std::vector<std::int32_t>& tokens, std::int32_t step) {
    std::vector<float> all;
    Sequence sequence(*cache_);
    sequence.tokens = tokens;
    while (sequence.computed < sequence.length()) {
      const auto rows = static_cast<std::int32_t>(
          std::min<std::int64_t>(step, sequence.length() - sequence.computed));
      std::vector<float> out(static_cast<std::size_t>(rows * model_->spec.hidden));
      const View view = f32_view(out.data(), rows, model_->spec.hidden);
      StepPart part{.sequence = &sequence, .rows = rows, .hidden = rows};
      EXPECT_TRUE(run_next(*executor_, {&part, 1}));
      for (std::int32_t i = 0; i < rows; ++i) {
        const auto row = executor_->hidden(i);
        std::copy(row.begin(), row.end(), view.row<float>(i));
      }
      collector_.head(view);
      all.insert(all.end(), out.begin(), out.end());
    }
    return all;
  }

  std::vector<InputSums> sums() const { return collector_.sums(); }
  const Model& model() const { return *model_; }

 private:
  static constexpr std::int32_t kContext = 64;
  ThreadPool pool_;
  CpuBackend backend_;
  ImportanceCollector collector_;
  std::unique_ptr<const Model> model_;
  std::unique_ptr<KvCache> cache_;
  std::unique_ptr<Executor> executor_;
};

std::vector<std::int32_t> some_tokens(const Checkpoint& checkpoint) {
  std::vector<std::int32_t> ids;
  const std::int64_t vocab = checkpoint.config().vocab;
  for (std::int64_t i = 0; i < 50; ++i) ids.push_back(static_cast<std::int32_t>(i * 7919 % vocab));
  return ids;
}

const InputSums& of(const std::vector<InputSums>& sums, std::string_view name) {
  const auto found =
      std::find_if(sums.begin(), sums.end(), [&](const InputSums& s) { return s.tensor == name; });
  EXPECT_NE(found, sums.end()) << name;
  return *found;
}

TEST(Collector, BitsDoNotDependOnThreadsAndSteps) {
  for (const RandomModel& random : random_models(Q4_K::kFormat)) {
    SCOPED_TRACE(random.name);
    std::vector<InputSums> first;
    for (const auto& [threads, step] : {std::pair(1, 64), {3, 64}, {2, 7}, {1, 1}}) {
      const auto checkpoint = make_checkpoint(random, 5);
      Watched watched(*checkpoint, threads, true);
      watched.run(some_tokens(*checkpoint), step);
      const auto sums = watched.sums();
      if (first.empty()) first = sums;
      ASSERT_EQ(sums.size(), first.size());
      for (std::size_t i = 0; i < sums.size(); ++i) {
        EXPECT_EQ(sums[i].tensor, first[i].tensor);
        EXPECT_EQ(sums[i].rows, first[i].rows) << sums[i].tensor;
        EXPECT_EQ(sums[i].squares, first[i].squares) << sums[i].tensor;
      }
    }
  }
}

TEST(Collector, ChangesNoBitOfTheModel) {
  for (const RandomModel& random : random_models(Q6_K::kFormat)) {
    const auto checkpoint = make_checkpoint(random, 6);
    const auto again = make_checkpoint(random, 6);
    const auto tokens = some_tokens(*checkpoint);
    EXPECT_EQ(Watched(*checkpoint, 2, true).run(tokens, 50),
              Watched(*again, 2, false).run(tokens, 50))
        << random.name;
  }
}

TEST(Collector, SeesEveryMatrixAndEveryRowOnce) {
  for (const RandomModel& random : random_models(F32::kFormat)) {
    SCOPED_TRACE(random.name);
    const auto checkpoint = make_checkpoint(random, 7);
    Watched watched(*checkpoint, 2, true);
    const auto tokens = some_tokens(*checkpoint);
    const auto hidden = watched.run(tokens, 50);
    const auto sums = watched.sums();
    const Spec& spec = watched.model().spec;
    for (const ListedTensor& t : list_tensors(*checkpoint, bind_model(*checkpoint))) {
      const bool embedding =
          (t.role == TensorRole::kEmbedding && !spec.tied) || t.role == TensorRole::kLayerEmbedding;
      // No observer sees the small matrices of each head.
      const bool of_heads = t.role == TensorRole::kKUp || t.role == TensorRole::kVUp;
      const bool exact = choose_format(*find_recipe("F16"), spec, t).format == F32::kFormat;
      if (t.shape.size() == 1 || exact || of_heads || embedding) continue;
      const InputSums& s = of(sums, t.name);
      EXPECT_EQ(s.cols, t.shape.back()) << t.name;
      const bool expert = t.shape.size() == 3;
      EXPECT_EQ(std::ssize(s.rows), expert ? t.shape.front() : 1) << t.name;
      double rows = 0;
      for (const double n : s.rows) rows += n;
      EXPECT_EQ(rows, static_cast<double>(tokens.size()) * (expert ? spec.moe.used : 1)) << t.name;
    }
    // What the head takes in is what leaves the model.
    const InputSums& head = of(sums, spec.tied ? "token_embd.weight" : "output.weight");
    for (std::size_t k = 0; k < head.squares.size(); ++k) {
      double want = 0;
      for (std::size_t i = k; i < hidden.size(); i += head.squares.size()) {
        want += static_cast<double>(hidden[i]) * static_cast<double>(hidden[i]);
      }
      EXPECT_EQ(head.squares[k], want) << k;
    }
  }
}

// The first layer's input, from the definition: the embedding's rows, each divided by the root of
// its mean square, times the norm's weights.
TEST(Collector, AddsUpSquaresOfTheInput) {
  const RandomModel random = random_models(F32::kFormat).front();
  const auto checkpoint = make_checkpoint(random, 8);
  const auto tokens = some_tokens(*checkpoint);
  const std::vector<float> table = decode_tensor(*checkpoint->find("token_embd.weight"));
  const std::vector<float> norm = decode_tensor(*checkpoint->find("blk.0.attn_norm.weight"));
  std::vector<double> want(norm.size());
  for (const std::int32_t id : tokens) {
    const float* row = table.data() + static_cast<std::size_t>(id) * norm.size();
    double square = 0;
    for (std::size_t k = 0; k < norm.size(); ++k) square += double{row[k]} * double{row[k]};
    const double mean = square / static_cast<double>(norm.size()) + checkpoint->config().norm_eps;
    for (std::size_t k = 0; k < norm.size(); ++k) {
      const double x = row[k] / std::sqrt(mean) * double{norm[k]};
      want[k] += x * x;
    }
  }
  Watched watched(*checkpoint, 1, true);
  watched.run(tokens, 50);
  const auto sums = watched.sums();
  for (const char* name : {"blk.0.attn_q.weight", "blk.0.attn_k.weight", "blk.0.attn_v.weight"}) {
    const InputSums& got = of(sums, name);
    ASSERT_EQ(got.squares.size(), want.size());
    for (std::size_t k = 0; k < want.size(); ++k) {
      EXPECT_NEAR(got.squares[k], want[k], 1e-5 * want[k]) << name << " " << k;
    }
  }
}

}  // namespace
}  // namespace ingot::testing_support
