// The cost of a step without its model: an engine whose model does nothing, with sequences that
// each draw a token a step. Readers take their tokens between steps, which is not timed.
#include <benchmark/benchmark.h>

#include <chrono>
#include <memory>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "runtime/engine.h"

namespace ingot {
namespace {

constexpr std::int64_t kContext = 4096;

/// Steps that compute nothing: every token is 7.
class NoSteps final : public StepRunner {
 public:
  explicit NoSteps(std::int32_t sequences)
      : limits_{.rows = 512 + sequences,
                .out_rows = sequences,
                .sequences = sequences,
                .context = kContext},
        cache_(backend_, {{.layers = {0}, .window = 0, .block_bytes = 64}}, KvType::kF16,
               std::vector<std::int32_t>{sequences * 64}) {}

  KvCache& cache() override { return cache_; }
  const ExecutorLimits& limits() const override { return limits_; }
  void run(const Step&, std::span<const SampleRow>) override {}
  std::span<float> logits(std::int64_t) override { return {&logit_, 1}; }
  RowScore score(std::int64_t) const override { return {}; }
  std::span<const float> hidden(std::int64_t) const override { return {}; }
  void sample(std::span<const SampleRow> rows, std::span<Drawn> drawn,
              FunctionRef<void(std::int64_t row)>) override {
    for (std::size_t i = 0; i < rows.size(); ++i) drawn[i].id = 7;
  }

 private:
  ThreadPool pool_{1};
  CpuBackend backend_{pool_, scalar_kernels()};
  ExecutorLimits limits_;
  KvCache cache_;
  float logit_ = 0;
};

std::vector<Stream> submit_all(Engine& engine, std::int32_t sequences) {
  std::vector<Stream> streams;
  for (std::int32_t i = 0; i < sequences; ++i) {
    Request request{.max_tokens = 800, .ignore_eos = true};
    for (std::int32_t t = 0; t < 100; ++t) request.prompt.push_back((i * 100 + t) % 50000);
    streams.push_back(*engine.submit(std::move(request)));
  }
  while (engine.scheduler().running() < sequences) engine.step();
  return streams;
}

void engine_step(benchmark::State& state) {
  using Clock = std::chrono::steady_clock;
  const auto sequences = static_cast<std::int32_t>(state.range(0));
  std::unique_ptr<Engine> engine;
  std::vector<Stream> streams;
  for (auto _ : state) {
    if (streams.empty() || streams.front().finished()) {
      streams.clear();
      engine = std::make_unique<Engine>(EngineSetup{
          .steps = std::make_unique<NoSteps>(sequences),
          .limits = {
              .vocab = 50000, .ids = 50000, .hidden = 64, .context = kContext, .text = false}});
      streams = submit_all(*engine, sequences);
    }
    const auto begun = Clock::now();
    engine->step();
    state.SetIterationTime(std::chrono::duration<double>(Clock::now() - begun).count());
    for (Stream& stream : streams) {
      while (stream.try_next()) continue;
    }
  }
}
BENCHMARK(engine_step)
    ->Arg(1)
    ->Arg(16)
    ->Arg(64)
    ->Arg(256)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace ingot
