// StepResults: samples a step's rows of logits, and delivers results in the executor's row order.
#include "runtime/step_results.h"

#include <exception>
#include <new>
#include <utility>

#include "base/index.h"
#include "kv/mutant.h"
#include "runtime/draft/drafter.h"
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

StepResults::StepResults(StepRunner& runner, EngineReporter& reporter, std::int32_t sequences,
                         std::int32_t outputs, Drafter* drafter)
    : runner_(runner),
      reporter_(reporter),
      drafter_(drafter),
      runner_draws_(runner.draws()),
      drawn_(to_size(sequences)) {
  drawing_.reserve(drawn_.size());
  choosing_.reserve(drawn_.size());
  failures_.reserve(drawn_.size());
  rows_.reserve(drawn_.size());
  draws_.reserve(to_size(outputs));
  tokens_.reserve(to_size(outputs));
}

/// Finds the masks of all requests of `choosing_` at once, each in one thread of the pool. No step
/// under way draws a token for these requests, so their matchers have read all earlier tokens. No
/// request is there twice. The matchers of a constraint share only its MatcherGrammar, which is
/// thread-safe, and the engine's thread waits here.
void StepResults::choose() {
  std::erase_if(choosing_, [](const RunningRequest* request) { return !request->must_choose(); });
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

/// Finds the masks before the step begins: a device that draws needs them now.
std::span<const SampleRow> StepResults::draws(const Step& step) {
  choosing_.clear();
  for (const StepPart& part : step.parts) {
    if (part.outputs > 0 && request_of(part) != nullptr) choosing_.push_back(request_of(part));
  }
  choose();
  draws_.clear();
  if (!runner_draws_) return draws_;
  for (const StepPart& part : step.parts) {
    for (std::int32_t i = 0; i < part.outputs; ++i) {
      draws_.push_back(part.sequence->request->row_ahead(INGOT_MUTANT(35) ? 0 : i));
    }
  }
  return draws_;
}

void StepResults::sample(const Step& step) {
  drawing_.clear();
  drafts_ = {};
  std::int64_t row = 0;
  for (const StepPart& part : step.parts) {
    RunningRequest* const request = part.outputs > 0 ? request_of(part) : nullptr;
    if (request != nullptr) {
      const auto drafts = std::span(part.sequence->drafts).first(to_size(part.drafts));
      drawing_.push_back({.request = request, .row = row, .drafts = drafts});
      drafts_.add(part.drafts);
      request->note_drafts(part.drafts);
    }
    row += part.outputs;
  }
  tokens_.assign(to_size(row), -1);
  draw();
}

/// Draws a token for each request of `drawing_`. Drops requests that have ended.
void StepResults::draw() {
  rows_.clear();
  for (std::size_t i = 0; i < drawing_.size(); ++i) {
    // Reserved before the parallel loop, because running out of memory there ends all requests.
    RunningRequest& request = *drawing_[i].request;
    end_without_memory(request, [&] { drawn_[i].top.reserve(request.best_tokens()); });
  }
  std::erase_if(drawing_, [](const Drawing& d) { return d.request->ended(); });
  for (const Drawing& d : drawing_) {
    rows_.push_back(d.request->row(runner_.logits(d.row)));
    if (runner_draws_) rows_.back().given = runner_.drawn(d.row);
  }
  if (rows_.empty()) return;
  runner_.sample(rows_, std::span(drawn_).first(rows_.size()), [&](std::int64_t row) {
    at(drawing_, row).request->add_to_digest(at(rows_, row).logits);
  });
}

std::span<const std::int32_t> StepResults::deliver(const Step& step, double now) {
  deliver_scores(step);
  deliver_hidden(step);
  deliver_pooled(step);
  accept(now);
  while (!drawing_.empty()) {
    choosing_.clear();
    for (const Drawing& d : drawing_) choosing_.push_back(d.request);
    if (!INGOT_MUTANT(36)) choose();
    draw();
    accept(now);
  }
  return tokens_;
}

/// Gives each drawn token to its request. Only requests whose token equals their draft draw
/// further.
void StepResults::accept(double now) {
  for (std::size_t i = 0; i < drawing_.size(); ++i) {
    Drawing& d = drawing_[i];
    const std::int32_t draft = d.drafts.empty() ? -1 : d.drafts.front();
    std::int32_t& token = at(tokens_, d.row);
    const std::int64_t before = d.request->generated();
    const bool is_accepted = drawn_[i].id == draft && draft >= 0;
    end_without_memory(*d.request, [&] {
      token = d.request->accept_token(std::move(drawn_[i]), is_accepted, now);
    });
    const bool is_delivered = d.request->generated() > before;
    if (is_delivered) reporter_.token(*d.request);
    if (is_delivered && is_accepted) drafts_.accept(d.accepted);
    if (token < 0 || !is_accepted) {
      d.request = nullptr;
      continue;
    }
    d.drafts = d.drafts.subspan(1);
    ++d.row;
    ++d.accepted;
  }
  std::erase_if(drawing_, [](const Drawing& d) { return d.request == nullptr; });
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

/// Gives a hidden state to the drafter. What fails there costs drafts, not results.
void StepResults::show(RunningRequest& request, std::int64_t row, std::span<const float> hidden) {
  if (drafter_ == nullptr || request.ended()) return;
  static_cast<void>(failure_of([&] { drafter_->see(request, row, hidden); }));
}

/// Hidden states after the final norm come before hidden states without it.
void StepResults::deliver_hidden(const Step& step) {
  std::int64_t row = 0;
  for (const bool final_norm : {true, false}) {
    for (const StepPart& part : step.parts) {
      if (part.final_norm != final_norm) continue;
      RunningRequest* const request = request_of(part);
      for (std::int32_t i = 0; i < part.hidden; ++i, ++row) {
        if (request == nullptr) continue;
        const std::span<const float> hidden = runner_.hidden(row);
        if (part.sequence->shows_hidden) {
          show(*request, part.first_hidden + i, hidden);
        } else {
          request->accept_hidden(hidden);
        }
      }
    }
  }
}

}  // namespace ingot
