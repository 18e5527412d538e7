// Executor: begins steps and waits for them.
#include "runtime/executor.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "base/index.h"

namespace ingot {

Executor::Executor(const Model& model, Backend& backend, KvCache& cache,
                   const ExecutorLimits& limits)
    : model_(model), backend_(backend), cache_(cache), limits_(limits) {
  INGOT_CHECK(backend.steps_ahead() == 1 || !backend.host_memory(),
              "steps of results in place would overwrite each other");
  StepLimits step = step_limits(model.spec, limits.rows, limits.out_rows);
  step.adapters = limits.adapters;
  backend.plan(step);
  scratch_ = make_scratch(backend, model.spec, step);
  DeviceRows device{.logits = {}, .outputs = scratch_.output, .pooled = {}};
  if (limits.pools) {
    const View& rows = scratch_.pooled;
    device.pooled =
        f32_view(reinterpret_cast<float*>(rows.data), limits.sequences, model.spec.pooled_cols());
  }
  if (limits.logits_rows > 0) {
    const std::int64_t vocab = model.spec.vocab;
    logits_memory_ = backend.allocate(limits.logits_rows * vocab * std::int64_t{sizeof(float)});
    device.logits =
        f32_view(reinterpret_cast<float*>(logits_memory_.data()), limits.logits_rows, vocab);
  }
  if (backend.draws()) drawn_.reserve(to_size(limits.logits_rows));
  buffers_.reserve(to_size(backend.steps_ahead()));
  for (std::int32_t i = 0; i < backend.steps_ahead(); ++i) {
    buffers_.emplace_back(model, backend, cache, limits, device);
  }
}

std::int64_t Executor::result_bytes(const Spec& spec, const ExecutorLimits& limits) {
  const std::int64_t logits = limits.logits_rows * spec.vocab * std::int64_t{sizeof(float)};
  if (limits.score_top < 0) return logits;
  const std::int64_t top = limits.score_top * std::int64_t{sizeof(TokenScore)};
  return logits + limits.out_rows * (std::int64_t{2 * sizeof(float)} + top);
}

std::int64_t Executor::table_bytes(const Spec& spec, std::int32_t sequences) {
  std::set<std::tuple<std::int32_t, std::int32_t, std::int32_t>> groups;
  for (const LayerSpec& l : spec.layer_specs) groups.emplace(l.window, l.kv_heads, l.head_dim);
  return std::ssize(groups) * sequences * std::int64_t{sizeof(std::int32_t)};
}

void Executor::run(const Step& step, std::span<const SampleRow> draws) {
  begin(step.parts, step.copies, draws);
}

void Executor::run(std::span<const StepPart> parts) { begin(parts, {}, {}); }

void Executor::run_now(std::span<const StepPart> parts) {
  INGOT_CHECK(begun_ == done_, begun_ - done_, " steps are under way");
  run(parts);
  try {
    wait();
  } catch (...) {
    drain();
    throw;
  }
}

void Executor::begin(std::span<const StepPart> parts, std::span<const BlockCopy> copies,
                     std::span<const SampleRow> draws) {
  INGOT_CHECK(begun_ - done_ < std::ssize(buffers_), begun_ - done_, " steps are under way");
  StepBuffers& buffers = this->buffers(begun_);
  buffers.fill(parts, draws, drawn_before_);
  begin(buffers, copies);
}

void Executor::begin(StepBuffers& buffers, std::span<const BlockCopy> copies) {
  cache_.copy(copies);
  forward(model_, backend_, buffers.batch(), cache_, scratch_, buffers.outputs());
  drawn_before_ = buffers.draws();
  ++begun_;
}

void Executor::wait() {
  INGOT_CHECK(done_ < begun_, "no step is under way");
  backend_.wait();
  buffers(done_++).forget_adapters();
  const auto drawn = results().drawn();
  drawn_.assign(drawn.begin(), drawn.end());
}

void Executor::drain() noexcept {
  backend_.drain();
  dropped_ = begun_;
  begun_ = done_;
}

/// The step before the oldest one ended long ago: the backend does not know what it drew.
void Executor::run_again(const Step& step) {
  INGOT_CHECK(begun_ < dropped_, "no step was dropped");
  StepBuffers& buffers = this->buffers(begun_);
  buffers.forget_removed(step.parts);
  if (begun_ == done_) buffers.resolve(drawn_);
  begin(buffers, step.copies);
}

bool run_next(Executor& executor, std::span<StepPart> parts) {
  for (StepPart& part : parts) {
    part.first = part.sequence->computed;
    part.first_hidden = part.first + part.rows - part.hidden;
    if (!part.sequence->blocks.reserve(part.first + part.rows)) return false;
  }
  executor.run_now(parts);
  for (const StepPart& part : parts) {
    Sequence& s = *part.sequence;
    s.computed += part.rows;
    s.blocks.set_filled(s.computed);
  }
  return true;
}

}  // namespace ingot
