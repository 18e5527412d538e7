// Intake: adds a submission's choices to the scheduler, or refuses them.
#include "runtime/intake.h"

#include <memory>
#include <new>
#include <utility>

#include "runtime/engine_errors.h"

namespace ingot {

Intake::Intake(const Targets& targets, const Tokenizer* tokenizer,
               std::vector<std::int32_t> end_ids)
    : to_(targets), tokenizer_(tokenizer), end_ids_(std::move(end_ids)) {
  const std::int64_t ids = to_.inbox.limits().request.ids;
  std::erase_if(end_ids_, [&](std::int32_t id) { return id < 0 || id >= ids; });
}

void Intake::enqueue(Submission&& submission, double now) {
  auto& ends = submission.request.sampling.end_ids;
  const std::size_t choices = submission.channels.size();
  try {
    if (!submission.request.ignore_eos) ends.insert(ends.end(), end_ids_.begin(), end_ids_.end());
  } catch (const std::bad_alloc&) {
    for (std::size_t i = 0; i < choices; ++i) refuse(submission, i, out_of_memory());
    return;
  }
  for (std::size_t i = 0; i < choices; ++i) {
    try {
      enqueue_choice(submission, i, now);
    } catch (const Error& error) {
      refuse(submission, i, error);
    } catch (const std::bad_alloc&) {
      refuse(submission, i, out_of_memory());
    }
  }
}

/// Adds one choice. Later choices share the prompt of the first one, if that was not refused.
void Intake::enqueue_choice(Submission& submission, std::size_t choice, double now) {
  const std::uint64_t id = submission.id + choice;
  const bool is_last = choice + 1 == submission.channels.size();
  Request request = is_last ? std::move(submission.request) : submission.request;
  request.sampling.choice += static_cast<std::uint32_t>(choice);
  if (choice > 0) request.queue_seconds = kNever;  // the limit is the first choice's alone
  auto made = std::make_unique<RunningRequest>(
      id, std::move(request), submission.channels[choice], submission.time, to_.runner.cache(),
      to_.inbox.limits().request, tokenizer_, submission.repeats, submission.matcher);
  RunningRequest& running = *to_.requests.emplace(id, std::move(made)).first->second;
  if (choice == 0) running.set_choices(submission.channels.size());
  Sequence& sequence = running.sequence();
  running.set_runner_draws(to_.runner.draws());
  sequence.shows_hidden = to_.runner.limits().draft_hidden && sequence.draws;
  const auto first = to_.requests.find(submission.id);
  if (choice > 0 && first != to_.requests.end()) sequence.fork_of = &first->second->sequence();
  to_.resting.enqueue(running);
  // A choice that shares the first one's prompt is in time if the first one is.
  const bool is_new = sequence.fork_of == nullptr && !sequence.admitted;
  if (sequence.terms.has_deadline() && is_new) require_in_time(running, now);
}

/// Errors: Error{kUnavailable} when the request surely ends too late.
void Intake::require_in_time(const RunningRequest& request, double now) {
  const SchedulingTerms& terms = request.sequence().terms;
  const MinSeconds needed = to_.scheduler.min_seconds(request.sequence(), now);
  const double waited = now - terms.arrival;
  if (now + needed.first_token > terms.first_token_by) {
    throw too_late("max_ttft_ms", terms.first_token_by - terms.arrival,
                   waited + needed.first_token);
  }
  if (now + needed.end > terms.end_by) {
    throw too_late(request.end_limit(), request.end_seconds(),
                   request.elapsed_seconds() + waited + needed.end);
  }
}

void Intake::refuse(const Submission& submission, std::size_t choice, const Error& error) {
  if (const auto found = to_.requests.find(submission.id + choice); found != to_.requests.end()) {
    to_.scheduler.remove(found->second->sequence());
    to_.requests.erase(found);
  }
  const bool is_late = error.code() == ErrorCode::kUnavailable;
  to_.reporter.rejected(is_late ? Rejection::kDeadline : Rejection::kMemory, 1);
  to_.inbox.end(submission, choice, FinishReason::kError, &error);
}

}  // namespace ingot
