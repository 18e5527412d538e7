// ModelSteps: runs steps with a model's executor, samples tokens, and warms up.
#include "runtime/step_runner.h"

#include <algorithm>

#include "base/index.h"

namespace ingot {

namespace {

/// Rows of the warm-up step: the fewest that make a prompt. More take longer and gain nothing.
constexpr std::int64_t kWarmRows = 2;
/// Bytes of the KV cache that warm-up touches, in about half a second. Most engines use no more in
/// their first minutes. With less, early steps wait for memory pages.
constexpr std::int64_t kTouchedBytes = std::int64_t{1} << 30;

}  // namespace

ModelSteps::ModelSteps(Executor& executor, ThreadPool& pool, const HostKernels& kernels,
                       std::int64_t ids, const ProfiledBackend* profiled)
    : executor_(executor), pool_(pool), profiled_(profiled) {
  const Model& model = executor.model();
  if (model.head() == nullptr) return;
  sampler_.emplace(pool, kernels, model.spec.vocab, std::min(ids, model.spec.vocab),
                   executor.limits().sequences);
}

void ModelSteps::for_each(std::int64_t count, FunctionRef<void(std::int64_t i)> body) {
  if (count == 1) return body(0);  // wakes no thread
  const auto lease = pool_.acquire();
  pool_.parallel_for(count, [&](std::int64_t i, int) { body(i); });
}

void ModelSteps::sample(std::span<const SampleRow> rows, std::span<Drawn> drawn,
                        FunctionRef<void(std::int64_t row)> before) {
  const auto lease = pool_.acquire();
  pool_.parallel_for(std::ssize(rows), [&](std::int64_t i, int) { before(i); });
  INGOT_CHECK(sampler_.has_value(), "tokens drawn without a head");
  sampler_->sample(rows, drawn);
}

/// Touches the memory of the KV cache's first blocks, then runs a step with a temporary sequence
/// and draws a token, or computes a pooled result if the model has no head. No prefix index knows
/// the sequence, and its blocks are free again afterwards.
void ModelSteps::warm_up() {
  const std::int64_t rows = std::min({kWarmRows, std::int64_t{limits().rows}, limits().context});
  {
    const auto lease = pool_.acquire();
    pool_.parallel_for(cache().layer_count(),
                       [&](std::int64_t i, int) { cache().touch(i, kTouchedBytes); });
  }
  const Model& model = executor_.model();
  const std::int32_t outputs = model.head() != nullptr ? 1 : 0;
  std::vector<float> zeros(to_size(rows * model.spec.hidden));
  Sequence sequence(cache());
  if (model.embedding) {
    sequence.tokens.assign(to_size(rows), 0);
  } else {
    sequence.add_given(f32_view(zeros.data(), rows, model.spec.hidden));
  }
  if (!sequence.blocks.reserve(rows)) return;
  const auto count = static_cast<std::int32_t>(rows);
  const bool pools = outputs == 0 && executor_.limits().pools;
  const StepPart part{.sequence = &sequence, .rows = count, .outputs = outputs, .pooled = pools};
  executor_.run_now({&part, 1});
  if (outputs == 0) return;
  const SamplingParams greedy;
  const SampleRow row{.logits = logits(0), .params = &greedy};
  Drawn drawn;
  sample({&row, 1}, {&drawn, 1}, [](std::int64_t) {});
}

}  // namespace ingot
