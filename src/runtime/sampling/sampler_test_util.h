// Helpers for tests of the sampler: rows of logits, and draws from them.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "backend/backends.h"
#include "runtime/sampling/sampler.h"

namespace ingot::testing {

inline constexpr float kInf = std::numeric_limits<float>::infinity();

/// A row of logits with its history. `row` returns a fresh copy, which a sampler may overwrite.
struct TestRow {
  std::vector<float> logits;
  SamplingParams params{};
  TokenCounts counts{};
  std::uint64_t index = 0;
  RepeatHistory repeats{{}, nullptr};
  std::vector<std::vector<std::int32_t>> bad_words{};
  std::vector<std::int32_t> drawn{};
  double surprise_max = 0;

  SampleRow row() {
    scratch = logits;
    return {.logits = scratch,
            .params = &params,
            .counts = &counts,
            .repeats = &repeats,
            .bad_words = bad_words,
            .allowed = params.allowed_token_ids,
            .drawn = drawn,
            .surprise_max = surprise_max,
            .index = index};
  }
  std::int64_t vocab() const { return std::ssize(logits); }

  std::vector<float> scratch{};
};

/// Returns `n` random logits of a normal distribution with mean 0.
inline std::vector<float> normal_logits(std::int64_t n, float deviation, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> x(static_cast<std::size_t>(n));
  // Sums twelve uniform numbers, because std::normal_distribution differs between libraries.
  for (float& v : x) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(random() >> 11) * 0x1p-53;
    v = static_cast<float>(sum) * deviation;
  }
  return x;
}

/// Returns the chi-square value that is exceeded with a probability of 1e-6 (Wilson and Hilferty,
/// 1931).
inline double chi_square_limit(std::size_t degrees) {
  const auto k = static_cast<double>(degrees);
  const double root = 1 - 2 / (9 * k) + 4.7534 * std::sqrt(2 / (9 * k));
  return k * root * root * root;
}

/// Draws from a row with a new sampler in this thread.
inline Drawn draw(TestRow& row, const HostKernels& kernels = *host_kernels().back(),
                  std::int64_t ids = -1) {
  ThreadPool pool(1);
  Sampler sampler(pool, kernels, row.vocab(), ids < 0 ? row.vocab() : ids, 1);
  const SampleRow sampled = row.row();
  Drawn drawn;
  sampler.sample({&sampled, 1}, {&drawn, 1});
  return drawn;
}

inline std::vector<TokenProbability> distribution(
    TestRow& row, const HostKernels& kernels = *host_kernels().back(), std::int64_t ids = -1) {
  ThreadPool pool(1);
  Sampler sampler(pool, kernels, row.vocab(), ids < 0 ? row.vocab() : ids, 1);
  return sampler.distribution(row.row());
}

}  // namespace ingot::testing
