// Sampler: draws from the rows of a step in parallel, each row in one thread.
#include "runtime/sampling/sampler.h"

#include "base/check.h"
#include "base/index.h"
#include "runtime/sampling/row_sampler.h"

namespace ingot {

Sampler::Sampler(ThreadPool& pool, const HostKernels& kernels, std::int64_t vocab, std::int64_t ids,
                 std::int32_t rows_max)
    : pool_(pool), rows_max_(rows_max) {
  INGOT_CHECK(ids > 0 && ids <= vocab, ids, " ids of ", vocab);
  for (int thread = 0; thread < pool.size(); ++thread) {
    by_thread_.push_back(std::make_unique<RowSampler>(kernels, vocab, ids));
  }
}

Sampler::~Sampler() = default;

void Sampler::sample(std::span<const SampleRow> rows, std::span<Drawn> drawn) {
  INGOT_CHECK(rows.size() == drawn.size() && std::ssize(rows) <= rows_max_, rows.size(),
              " rows into ", drawn.size(), ", planned for ", rows_max_);
  pool_.parallel_for(std::ssize(rows), [&](std::int64_t r, int thread) {
    const auto i = to_size(r);
    at(by_thread_, thread)->draw(rows[i], drawn[i]);
  });
}

std::vector<TokenProbability> Sampler::distribution(const SampleRow& row) {
  Drawn drawn;
  if (!by_thread_[0]->prepare(row, drawn)) return {};
  return by_thread_[0]->distribution();
}

std::int64_t Sampler::bytes(int threads, std::int64_t vocab) {
  return threads * RowSampler::bytes(vocab);
}

}  // namespace ingot
