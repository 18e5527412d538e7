// One sequence: prefill in chunks, then a token a step.
#include "runtime/generate.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "runtime/digest.h"
#include "runtime/sampler.h"

namespace ingot {

namespace {

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Closes the gap between what the sequence has and what is computed, with the last row's logits in
/// `row`.
void compute(Executor& executor, Sequence& sequence, View row) {
  const Outputs outputs{.kind = Output::kLogits, .logits = {.full = row}, .hidden = {}};
  while (sequence.computed < sequence.length()) {
    const std::int64_t left = sequence.length() - sequence.computed;
    const auto rows =
        static_cast<std::int32_t>(std::min<std::int64_t>(left, executor.limits().rows));
    const StepPart part{.sequence = &sequence, .rows = rows, .outputs = rows == left ? 1 : 0};
    const bool ran = executor.step({&part, 1}, outputs);
    INGOT_CHECK(ran, "the KV pool is smaller than the context it was planned for");
    sequence.forget();
  }
}

}  // namespace

Generated generate(Executor& executor, std::span<const std::int32_t> prompt,
                   const GenerateParams& params, FunctionRef<bool(std::int32_t)> on_token) {
  const std::int64_t vocab = executor.model().spec.vocab;
  for (const std::int32_t id : prompt) {
    if (id >= 0 && id < vocab) continue;
    throw Error(ErrorCode::kInvalid, cat("token ", id, " is not in [0, ", vocab, ")"));
  }
  Generated result;
  Digest digest;
  Sequence sequence(executor.cache());
  sequence.tokens.assign(prompt.begin(), prompt.end());
  TokenCounts counts;
  for (const std::int32_t id : prompt) counts.add_prompt(id);
  ThreadPool alone(1);  // one row has work for one thread
  const std::int64_t ids = std::min(params.sampled_ids, vocab);
  Sampler sampler(alone, *kernel_tables().back(), vocab, ids, 1);
  std::vector<float> logits(static_cast<std::size_t>(vocab));
  const View row = f32_view(logits.data(), 1, std::ssize(logits));
  const std::int64_t room = executor.limits().context - std::ssize(prompt);

  double start = now_seconds();
  while (std::ssize(result.ids) < std::min(params.tokens_max, room)) {
    compute(executor, sequence, row);
    const double end = now_seconds();
    if (result.ids.empty()) {
      result.prefill_seconds = end - start;
    } else {
      result.decode_seconds += end - start;
      ++result.decode_steps;
    }
    start = end;
    digest.add(logits);
    const SampleRow drawn_from{.logits = logits,
                               .params = &params.sampling,
                               .counts = &counts,
                               .index = result.ids.size()};
    Drawn drawn;
    sampler.sample({&drawn_from, 1}, {&drawn, 1});
    const std::int32_t id = drawn.id;
    if (id < 0) {
      throw Error(ErrorCode::kNotFinite,
                  cat("the logits after ", sequence.length(),
                      " tokens allow no token: they hold NaN or infinities; --check-tensors tells "
                      "whether the file's weights do"));
    }
    const auto& stop = params.stop_ids;
    if (std::find(stop.begin(), stop.end(), id) != stop.end()) {
      result.finish = FinishReason::kStop;
      break;
    }
    result.ids.push_back(id);
    sequence.tokens.push_back(id);
    counts.add_generated(id);
    if (!on_token(id)) {
      result.finish = FinishReason::kCancelled;
      break;
    }
  }
  result.digest = digest.text();
  return result;
}

}  // namespace ingot
