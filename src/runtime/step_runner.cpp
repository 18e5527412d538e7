// A model's executor and its sampler.
#include "runtime/step_runner.h"

#include <algorithm>

namespace ingot {

ModelSteps::ModelSteps(Executor& executor, ThreadPool& pool, const KernelTable& kernels,
                       std::int64_t ids, const ProfiledBackend* profiled)
    : executor_(executor),
      pool_(pool),
      profiled_(profiled),
      sampler_(pool, kernels, executor.model().spec.vocab,
               std::min(ids, executor.model().spec.vocab), executor.limits().sequences) {
  INGOT_CHECK(executor.model().head() != nullptr, "steps that draw tokens, without a head");
}

void ModelSteps::sample(std::span<const SampleRow> rows, std::span<Drawn> drawn,
                        FunctionRef<void(std::int64_t row)> before) {
  const auto lease = pool_.acquire();
  pool_.parallel_for(std::ssize(rows), [&](std::int64_t i, int) { before(i); });
  sampler_.sample(rows, drawn);
}

}  // namespace ingot
