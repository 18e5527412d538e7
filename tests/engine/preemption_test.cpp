// cache_invariance after preemption: each request gives the bits of its solo run, in any batch and
// after any number of preemptions.
#include <map>

#include "base/full_run_test_util.h"
#include "base/text.h"
#include "engine/constraint_test_util.h"
#include "engine/engine_test_util.h"
#include "quant/formats.h"

namespace ingot::testing_support {
namespace {

constexpr std::int64_t kContext = 96;

/// Drives an engine by random arrivals and readers, and compares every request with its solo run.
class RandomSchedule {
 public:
  RandomSchedule(const RandomModel& model, std::uint64_t seed)
      : rng_(seed), checkpoint_(make_checkpoint(two_layers(model), seed)) {}

  void run() {
    constexpr KvType kTypes[] = {KvType::kF16, KvType::kF32, KvType::kBF16, KvType::kInt8};
    RunnerOptions options = EngineRunner::defaults();
    options.kv_type = kTypes[below(4)];
    EngineRunner alone(*checkpoint_, options);
    const std::int32_t sequences = 1 + below(12);
    const auto tables = kernel_tables();
    options.table = tables[static_cast<std::size_t>(below(std::int32_t(tables.size())))];
    options.threads = 1 + below(3);
    options.sequences = sequences;
    options.rows = sequences + below(30);
    options.pool_sequences = 1 + below(2);
    EngineRunner shared(*checkpoint_, options, {.deltas_max = 1 + std::size_t(below(6))});
    const int count = 1 + below(12);
    for (int i = 0; i < count; ++i) {
      requests_.push_back(random_request(rng_, 50, 30));
      const Spec& spec = shared.model().spec();
      if (below(4) == 0 && spec.takes_embeddings()) embed(requests_.back(), spec.hidden);
      if (requests_.back().sampling.seed % 3 == 0) constrain(requests_.back());
    }
    drive(shared.engine());
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      EXPECT_EQ(results_[i], run_alone(alone, requests_[i])) << "request " << i;
    }
    preemptions_ = shared.engine().scheduler().preemptions();
    EXPECT_EQ(shared.blocks_in_use(), 0);
  }
  std::int64_t preemptions() const { return preemptions_; }

 private:
  std::int32_t below(std::int32_t n) {
    return static_cast<std::int32_t>(rng_() % static_cast<std::uint64_t>(n));
  }

  /// Rows of a few embeddings before, among and behind the prompt's tokens.
  void embed(Request& request, std::int64_t hidden) {
    request.prompt_logprobs = -1;  // rows have none
    const std::vector<std::int32_t> ids = std::move(request.prompt);
    request.prompt.clear();
    auto rest = ids.begin();
    for (int runs = 1 + below(3); runs > 0; --runs) {
      std::vector<float> values(static_cast<std::size_t>((1 + below(10)) * hidden));
      for (float& x : values) x = static_cast<float>(below(2001) - 1000) / 1000;
      append_embeddings(request, std::move(values), hidden);
      const auto end = runs == 1 && below(4) > 0
                           ? ids.end()
                           : rest + below(1 + static_cast<std::int32_t>(ids.end() - rest));
      request.prompt.insert(request.prompt.end(), rest, end);
      rest = end;
    }
  }

  void drive(Engine& engine) {
    std::map<std::size_t, Stream> streams;
    std::map<std::size_t, Collected> got;
    for (int tick = 0; results_.size() < requests_.size(); ++tick) {
      ASSERT_LT(tick, 20000) << "the requests do not get on";
      if (started_ < requests_.size() && below(3) == 0) {
        streams.emplace(started_, *engine.submit(Request(requests_[started_])));
        ++started_;
      }
      engine.step();
      for (auto at = streams.begin(); at != streams.end();) {
        auto& [i, stream] = *at;
        for (int n = below(3); n > 0; --n) {
          if (const auto delta = stream.try_next()) got[i].add(*delta);
        }
        if (stream.finished()) {
          results_[i] = describe(got[i], stream.outcome());
          at = streams.erase(at);
        } else {
          ++at;
        }
      }
    }
  }

  std::mt19937_64 rng_;
  std::unique_ptr<Checkpoint> checkpoint_;
  std::vector<Request> requests_;
  std::size_t started_ = 0;
  std::map<std::size_t, std::string> results_;
  std::int64_t preemptions_ = 0;
};

TEST(cache_invariance, AfterPreemptionUnderRandomSchedules) {
  const int rounds = random_runs(1, 40);
  std::vector<Format> formats{F32::kFormat, Q4_K::kFormat};
  if (is_full_run()) {
    formats.insert(formats.end(), {BF16::kFormat, Q8_0::kFormat, Q4_0::kFormat, Q6_K::kFormat});
  }
  std::uint64_t seed = 100;
  std::int64_t preemptions = 0;
  for (const RandomModel& model : random_models_in_turn(formats)) {
    for (int round = 0; round < rounds; ++round) {
      SCOPED_TRACE(cat(model.name, " seed ", ++seed));
      RandomSchedule schedule(model, seed);
      schedule.run();
      if (HasFailure()) return;
      preemptions += schedule.preemptions();
    }
  }
  EXPECT_GT(preemptions, 5 * std::ssize(formats) / 2 * rounds)
      << "the pools were too large to test anything";
}

/// The solo run itself against executor and sampler driven by hand: all tokens so far in one step,
/// then the next one from the last row, with its own index and counts.
TEST(cache_invariance, ASoloRunIsWhatExecutorAndSamplerCompute) {
  for (const RandomModel& model : random_models(Q8_0::kFormat)) {
    SCOPED_TRACE(model.name);
    const auto checkpoint = make_checkpoint(two_layers(model), 3);
    EngineRunner runner(*checkpoint);
    Request request;
    TokenCounts counts;
    for (std::int32_t i = 0; i < 30; ++i) {
      request.prompt.push_back(i);
      counts.add_prompt(i);
    }
    request.max_tokens = 12;
    request.digest = true;
    request.sampling.temperature = 1;
    request.sampling.seed = 5;
    request.sampling.repetition_penalty = 1.5f;
    request.sampling.frequency_penalty = 1;
    ModelRunner by_hand(*checkpoint, {.context = kContext});
    Sampler sampler(by_hand.pool(), by_hand.table(), 37, 37, 1);
    std::vector<std::int32_t> tokens = request.prompt;
    Digest digest;
    for (std::uint64_t i = 0; i < 12; ++i) {
      std::vector<float> rows = by_hand.run({tokens}, whole({tokens}))[0];
      const std::span<float> last(rows.end() - 37, rows.end());
      digest.add(last);
      const SampleRow row{
          .logits = last, .params = &request.sampling, .counts = &counts, .index = i};
      Drawn drawn;
      sampler.sample({&row, 1}, {&drawn, 1});
      tokens.push_back(drawn.id);
      counts.add_generated(drawn.id);
    }
    std::string want = cat("length ", digest.text(), "  ids");
    for (std::size_t i = 30; i < tokens.size(); ++i) want += cat(" ", tokens[i]);
    EXPECT_EQ(run_alone(runner, request), want + " logprobs prompt");
  }
}

}  // namespace
}  // namespace ingot::testing_support
