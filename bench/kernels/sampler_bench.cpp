// Sampling 64 rows: every kernel table, several settings and sizes of vocabularies, each with the
// digest of the ids drawn.
//
// `peaked` rows look like those of a language model: normal logits, a few far above the rest, and
// some dozens kept at top_p 0.95. `flat` ones are normal logits alone, of which thousands are kept.
#include <benchmark/benchmark.h>

#include <random>

#include "backend/cpu/kernel_table.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "runtime/sampling/digest.h"
#include "runtime/sampling/sampler.h"

namespace ingot {
namespace {

constexpr std::int32_t kRows = 64;

struct Setting {
  const char* name;
  SamplingParams params;
};

std::vector<Setting> settings() {
  return {
      {"greedy", {}},
      {"temperature", {.temperature = 0.8f}},
      {"top_p_logprobs", {.temperature = 0.8f, .top_p = 0.95f, .logprobs = 5}},
      {"top_p", {.temperature = 0.8f, .top_p = 0.95f}},
      {"hot_top_p", {.temperature = 3, .top_p = 0.95f}},
      {"top_k", {.temperature = 0.8f, .top_k = 40}},
      {"min_p", {.temperature = 0.8f, .min_p = 0.05f}},
      {"typical_p", {.temperature = 0.8f, .typical_p = 0.95f}},
  };
}

std::vector<float> make_logits(std::int64_t vocab, bool peaked) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 2.5f);
  std::vector<float> x(static_cast<std::size_t>(kRows * vocab));
  for (float& v : x) v = normal(random);
  for (std::int64_t r = 0; peaked && r < kRows; ++r) {
    for (int i = 0; i < 40; ++i) {
      const auto id = static_cast<std::int64_t>(random()) % vocab;
      x[static_cast<std::size_t>(r * vocab + id)] = 20 - 0.15f * static_cast<float>(i);
    }
  }
  return x;
}

void run_sampler(benchmark::State& state, const KernelTable& table, const SamplingParams& params,
                 std::int64_t vocab, bool peaked) {
  ThreadPool pool(1);
  Sampler sampler(pool, table, vocab, vocab, kRows);
  auto logits = make_logits(vocab, peaked);
  std::vector<SampleRow> rows(kRows);
  std::vector<Drawn> drawn(kRows);
  const auto size = static_cast<std::size_t>(vocab);
  for (std::size_t r = 0; r < kRows; ++r) {
    rows[r] = {.logits = std::span(logits).subspan(r * size, size), .params = &params, .index = r};
  }
  // None of the settings changes a logit, so the rows stay as they are.
  for (auto _ : state) sampler.sample(rows, drawn);
  Digest digest;
  for (const Drawn& d : drawn) {
    const auto id = static_cast<float>(d.id);
    digest.add({&id, 1});
  }
  state.SetLabel(digest.text());
  using benchmark::Counter;
  state.counters["per row"] = Counter(kRows, Counter::kIsIterationInvariantRate | Counter::kInvert);
}

const bool registered = [] {
  for (const KernelTable* table : kernel_tables()) {
    for (const Setting& setting : settings()) {
      for (const bool peaked : {true, false}) {
        const auto name = cat("sampler/", std::string_view(table->name), "/",
                              std::string_view(setting.name), peaked ? "/peaked" : "/flat");
        benchmark::RegisterBenchmark(
            name.c_str(),
            [table, params = setting.params, peaked](benchmark::State& state) {
              run_sampler(state, *table, params, state.range(0), peaked);
            })
            ->ArgName("ids")
            ->Arg(32'000)
            ->Arg(151'936)
            ->Arg(262'144)
            ->Unit(benchmark::kMillisecond);
      }
    }
  }
  return true;
}();

}  // namespace
}  // namespace ingot
