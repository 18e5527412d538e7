// Greedy and temperature sampling.
#include "runtime/sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "base/math_double.h"
#include "base/philox.h"

namespace ingot {

namespace {

/// Uniform in [0, 1) with 53 bits, from the generator's first two words.
double uniform(const SamplingParams& params, std::uint64_t index) {
  const auto words = philox4x32(
      {static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32), params.choice,
       0},
      {static_cast<std::uint32_t>(params.seed), static_cast<std::uint32_t>(params.seed >> 32)});
  const std::uint64_t bits = (std::uint64_t{words[0]} << 32 | words[1]) >> 11;
  return static_cast<double>(bits) * 0x1p-53;
}

std::optional<std::int32_t> draw(std::span<const float> logits, std::int64_t ids,
                                 const SamplingParams& params, std::uint64_t index) {
  if (std::any_of(logits.begin(), logits.end(), [](float x) { return std::isnan(x); })) {
    return std::nullopt;
  }
  const auto row = logits.first(
      static_cast<std::size_t>(std::min(ids, static_cast<std::int64_t>(logits.size()))));
  const auto best = std::max_element(row.begin(), row.end());
  if (best == row.end() || std::isinf(*best)) return std::nullopt;
  const auto greedy = static_cast<std::int32_t>(best - row.begin());
  if (params.temperature == 0) return greedy;

  const double scale = 1 / static_cast<double>(params.temperature);
  const auto weight = [&](float x) { return math::exp((static_cast<double>(x) - *best) * scale); };
  double total = 0;
  for (const float x : row) total += weight(x);
  double left = uniform(params, index) * total;
  for (std::size_t id = 0; id < row.size(); ++id) {
    left -= weight(row[id]);
    if (left < 0) return static_cast<std::int32_t>(id);
  }
  return greedy;  // rounding left a crumb beyond the last token
}

void add_logprobs(std::span<const float> row, std::int32_t best, Drawn& drawn) {
  std::vector<std::int32_t> order(row.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return row[static_cast<std::size_t>(a)] > row[static_cast<std::size_t>(b)];
  });
  const double largest = row[static_cast<std::size_t>(order[0])];
  double sum = 0;
  for (const float x : row) sum += math::exp(static_cast<double>(x) - largest);
  const auto score = [&](std::int32_t id) {
    return static_cast<float>(static_cast<double>(row[static_cast<std::size_t>(id)]) - largest -
                              std::log(sum));
  };
  drawn.logprob = score(drawn.id);
  for (std::int32_t i = 0; i < best && i < std::ssize(order); ++i) {
    const std::int32_t id = order[static_cast<std::size_t>(i)];
    drawn.top.push_back({id, score(id)});
  }
}

}  // namespace

Sampler::Sampler(ThreadPool& pool, const KernelTable&, std::int64_t, std::int64_t ids, std::int32_t)
    : pool_(pool), ids_(ids) {}

std::int64_t Sampler::bytes(int, std::int64_t) { return 0; }

void Sampler::sample(std::span<const SampleRow> rows, std::span<Drawn> drawn) {
  pool_.parallel_for(std::ssize(rows), [&](std::int64_t i, int) {
    const SampleRow& row = rows[static_cast<std::size_t>(i)];
    Drawn& out = drawn[static_cast<std::size_t>(i)];
    out = {};
    std::vector<float> x(row.logits.begin(), row.logits.end());
    for (const auto& [id, bias] : row.params->logit_bias) x[static_cast<std::size_t>(id)] += bias;
    if (row.index < static_cast<std::uint64_t>(row.params->min_tokens)) {
      for (const std::int32_t id : row.params->end_ids) x[static_cast<std::size_t>(id)] = -INFINITY;
    }
    out.id = draw(x, ids_, *row.params, row.index).value_or(-1);
    if (out.id >= 0 && row.params->logprobs >= 0) {
      add_logprobs(row.logits, row.params->logprobs, out);
    }
  });
}

}  // namespace ingot
