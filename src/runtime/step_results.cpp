// StepResults: samples a step's rows of logits, and delivers results in the executor's row order.
#include "runtime/step_results.h"

#include <exception>
#include <new>
#include <utility>

#include "base/index.h"
#include "runtime/engine_errors.h"

namespace ingot {

namespace {

/// Calls `body`. Ends the request if `body` throws std::bad_alloc.
void end_without_memory(RunningRequest& request, FunctionRef<void()> body) {
  try {
    body();
  } catch (const std::bad_alloc&) {
    if (!request.ended()) request.finish(FinishReason::kError, out_of_memory());
  }
}

/// Calls `body` and returns its exception; null if it throws none.
std::exception_ptr failure_of(FunctionRef<void()> body) noexcept {
  try {
    body();
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

RunningRequest* request_of(const StepPart& part) {
  return part.sequence != nullptr ? part.sequence->request : nullptr;
}

}  // namespace

StepResults::StepResults(StepRunner& runner, EngineReporter& reporter, std::int32_t sequences)
    : runner_(runner),
      reporter_(reporter),
      runner_draws_(runner.draws()),
      drawn_(to_size(sequences)) {
  outputs_.reserve(drawn_.size());
  sampled_.reserve(drawn_.size());
  choosing_.reserve(drawn_.size());
  failures_.reserve(drawn_.size());
  rows_.reserve(drawn_.size());
  draws_.reserve(drawn_.size());
  tokens_.reserve(drawn_.size());
}

/// Finds the masks of all rows at once, each in one thread of the pool, before the step begins: a
/// device that draws needs them now. No step under way draws a token for these requests, so their
/// matchers have read all earlier tokens. No two rows share a request. The matchers of a constraint
/// share only its MatcherGrammar, which is thread-safe, and the engine's thread waits here.
void StepResults::choose(const Step& step) {
  choosing_.clear();
  for (const StepPart& part : step.parts) {
    if (part.outputs == 0) continue;
    RunningRequest* const request = request_of(part);
    if (request != nullptr && request->must_choose()) choosing_.push_back(request);
  }
  if (choosing_.empty()) return;
  failures_.assign(choosing_.size(), nullptr);
  // An exception that left the body would end the process.
  runner_.for_each(std::ssize(choosing_), [&](std::int64_t i) {
    at(failures_, i) = failure_of([&] { at(choosing_, i)->choose(); });
  });
  for (std::size_t i = 0; i < choosing_.size(); ++i) {
    if (failures_[i] == nullptr || choosing_[i]->ended()) continue;
    choosing_[i]->finish(FinishReason::kError, error_of(failures_[i]));
    failures_[i] = nullptr;
  }
}

std::span<const SampleRow> StepResults::draws(const Step& step) {
  choose(step);
  draws_.clear();
  if (!runner_draws_) return draws_;
  for (const StepPart& part : step.parts) {
    if (part.outputs == 0) continue;
    const RunningRequest& request = *part.sequence->request;
    draws_.push_back(request.draws_on_device() ? request.row_ahead() : SampleRow{});
  }
  return draws_;
}

void StepResults::sample(const Step& step) {
  outputs_.clear();
  sampled_.clear();
  rows_.clear();
  for (const StepPart& part : step.parts) {
    if (part.outputs == 0) continue;
    RunningRequest* request = request_of(part);
    if (request != nullptr) {
      // Reserved before the parallel loop, because running out of memory there ends all requests.
      end_without_memory(*request,
                         [&] { drawn_[rows_.size()].top.reserve(request->best_tokens()); });
      if (request->ended()) request = nullptr;
    }
    if (request != nullptr) {
      const std::int64_t row = std::ssize(outputs_);
      rows_.push_back(request->row(runner_.logits(row)));
      if (runner_draws_) rows_.back().given = runner_.drawn(row);
      sampled_.push_back(request);
    }
    outputs_.push_back(request);
  }
  if (rows_.empty()) return;
  runner_.sample(rows_, std::span(drawn_).first(rows_.size()), [&](std::int64_t row) {
    at(sampled_, row)->add_to_digest(at(rows_, row).logits);
  });
}

std::span<const std::int32_t> StepResults::deliver(const Step& step, double now) {
  deliver_scores(step);
  deliver_hidden(step);
  deliver_pooled(step);
  tokens_.assign(outputs_.size(), -1);
  std::size_t row = 0;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (outputs_[i] == nullptr) continue;
    RunningRequest& request = *outputs_[i];
    Drawn& drawn = drawn_[row++];
    const std::int64_t before = request.generated();
    end_without_memory(request, [&] { tokens_[i] = request.accept_token(std::move(drawn), now); });
    if (request.generated() > before) reporter_.token(request);
  }
  return tokens_;
}

void StepResults::deliver_scores(const Step& step) {
  std::int64_t row = 0;
  for (const StepPart& part : step.parts) {
    RunningRequest* const request = request_of(part);
    for (std::int32_t i = 0; i < part.scores; ++i, ++row) {
      if (request == nullptr) continue;
      end_without_memory(*request, [&] { request->accept_score(runner_.score(row)); });
    }
  }
}

void StepResults::deliver_pooled(const Step& step) {
  std::int64_t row = 0;
  for (const StepPart& part : step.parts) {
    if (!part.pooled) continue;
    RunningRequest* const request = request_of(part);
    if (request != nullptr) request->accept_pooled(runner_.pooled(row));
    ++row;
  }
}

/// Hidden states after the final norm come before hidden states without it.
void StepResults::deliver_hidden(const Step& step) {
  std::int64_t row = 0;
  for (const bool final_norm : {true, false}) {
    for (const StepPart& part : step.parts) {
      if (part.final_norm != final_norm) continue;
      RunningRequest* const request = request_of(part);
      for (std::int32_t i = 0; i < part.hidden; ++i, ++row) {
        if (request != nullptr) request->accept_hidden(runner_.hidden(row));
      }
    }
  }
}

}  // namespace ingot
