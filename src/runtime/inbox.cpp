// Inbox: accepts or refuses requests, and predicts how long they will wait.
#include "runtime/inbox.h"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "runtime/engine_errors.h"

namespace ingot {

Inbox::Inbox(const InboxLimits& limits, const Scheduler& scheduler, const EngineReporter& reporter,
             std::shared_ptr<Doorbell> bell, const Clock& now, const Tokenizer* tokenizer)
    : limits_(limits),
      scheduler_(scheduler),
      reporter_(reporter),
      bell_(std::move(bell)),
      tokenizer_(tokenizer),
      now_(std::make_shared<const Clock>(now)),
      // `under_way_` bounds the queue.
      queue_(std::numeric_limits<std::size_t>::max()),
      expecting_(std::make_shared<std::atomic<std::size_t>>(0)) {
  INGOT_CHECK(limits.deltas_max > 0, "streams without room");
}

void Inbox::check(const Request& request, std::int32_t choices) const {
  check_request(request, limits_.request);
  if (choices < 1 || choices > kChoicesMax) {
    throw Error(ErrorCode::kInvalid,
                cat("n: ", choices, " is not in the range from 1 to ", kChoicesMax));
  }
  if (request.live != nullptr && choices > 1) {
    throw Error(ErrorCode::kInvalid,
                cat("n: ", choices, " choices of a live sequence, expected 1"));
  }
  const std::int64_t rows = std::ssize(request.prompt);
  const std::int64_t more = std::min(request.max_tokens, limits_.request.context - rows);
  if (!scheduler_.fits_alone(rows + more)) {
    throw Error(ErrorCode::kInvalid, cat("max_tokens: ", rows, " tokens and ", more,
                                         " more are too many for the KV pool"));
  }
}

/// Runs `body`. Counts a refused request if `body` throws Error.
void Inbox::count_invalid(FunctionRef<void()> body) const {
  try {
    body();
  } catch (const Error&) {
    reporter_.rejected(Rejection::kInvalid, 1);
    throw;
  }
}

void Inbox::prepare(Request& request) const {
  if (request.shared != nullptr) return;
  count_invalid([&] {
    check_sampling(request, limits_.request);
    request.shared = std::make_shared<const SharedSampling>(request.sampling, tokenizer_);
  });
}

std::vector<Stream> Inbox::submit(Request&& request, std::int32_t choices, QueuePlace place) {
  count_invalid([&] { check(request, choices); });
  const auto count = to_size(choices);
  // A flood of requests without room must cost little. `hand_in` decides.
  if (place == QueuePlace::kNew && under_way() + count > limits_.under_way_max) {
    reporter_.rejected(refusal_.load(), count);
    return {};
  }
  prepare(request);
  Submission submission;
  submission.repeats =
      prompt_repeats(request.sampling, *request.shared, request.prompt, tokenizer_);
  count_invalid([&] { submission.matcher = begin_matcher(request); });
  submission.id = last_id_.fetch_add(count) + 1;
  submission.time = (*now_)();
  std::vector<Stream> streams;
  for (std::size_t i = 0; i < count; ++i) {
    submission.channels.push_back(
        std::make_shared<Channel>(limits_.deltas_max, bell_, now_, request.notify));
    streams.emplace_back(submission.id + i, submission.channels.back());
  }
  submission.prompt_tokens = std::ssize(request.prompt);
  submission.request = std::move(request);
  if (!hand_in(std::move(submission), place)) {
    request = std::move(submission.request);  // NOLINT(bugprone-use-after-move): not handed in
    if (place == QueuePlace::kNew) reporter_.rejected(refusal_.load(), count);
    return {};
  }
  bell_->ring();
  return streams;
}

std::shared_ptr<void> Inbox::expect_successors() {
  expecting_->fetch_add(1);
  // The engine's thread may have put off the end of the drain.
  return {nullptr, [expecting = expecting_, bell = bell_](void*) {
            expecting->fetch_sub(1);
            bell->ring();
          }};
}

/// Queues a submission. If it is refused, returns false and leaves `submission` unchanged.
bool Inbox::hand_in(Submission&& submission, QueuePlace place) {
  const std::size_t count = submission.channels.size();
  const auto take_back = [&] {
    under_way_.fetch_sub(count);
    // The engine's thread may have counted these choices and missed the end of the drain.
    if (is_draining()) bell_->ring();
  };
  const std::size_t before = under_way_.fetch_add(count);
  try {
    const Rejection refusal = refusal_.load();
    const bool has_room =
        place == QueuePlace::kSuccessor
            ? refusal != Rejection::kFailed
            : refusal == Rejection::kFull && before + count <= limits_.under_way_max;
    if (has_room && queue_.try_push(std::move(submission))) return true;
  } catch (const std::bad_alloc&) {
    take_back();
    throw;
  }
  take_back();
  return false;
}

void Inbox::refuse_all(Rejection reason) {
  Rejection before = Rejection::kFull;
  if (reason == Rejection::kFailed) {
    refusal_.store(reason);
  } else {
    refusal_.compare_exchange_strong(before, reason);
  }
}

void Inbox::end(const Submission& submission, std::size_t choice, FinishReason reason,
                const Error* error) {
  const std::int64_t room = limits_.request.context - submission.prompt_tokens;
  const bool is_first = choice == 0;
  reporter_.never_ran(
      {.id = submission.id + choice,
       .prompt_tokens = submission.prompt_tokens,
       .max_tokens = std::min(submission.request.max_tokens, room),
       .choices = is_first ? static_cast<std::int32_t>(submission.channels.size()) : 0,
       .finish = reason},
      submission.time);
  Channel& channel = *submission.channels[choice];
  channel.outcome.finish = reason;
  channel.outcome.is_first_choice = is_first;
  channel.outcome.prompt_tokens = submission.prompt_tokens;
  channel.outcome.error = copy_of(error);
  release();
  channel.close();
}

void Inbox::close(FinishReason reason, const Error* error) {
  queue_.close();
  while (const auto submission = queue_.try_pop()) {
    for (std::size_t i = 0; i < submission->channels.size(); ++i)
      end(*submission, i, reason, error);
  }
}

EngineLoad Inbox::load() const {
  const std::size_t all = under_way();
  // Ended choices leave `under_way` a moment before they leave `running_`.
  const std::size_t running = std::min(all, running_.load());
  return {.running = running, .waiting = all - running};
}

void Inbox::publish_queue_state(double now) {
  publish_running();
  const std::int64_t admissions = scheduler_.admissions();
  const std::int64_t queued = scheduler_.queued();
  pace_.add(admissions - std::exchange(admissions_, admissions), queued, now);
  plan_.queued.store(to_size(queued));
  plan_.under_way.store(to_size(scheduler_.running() + scheduler_.waiting()));
  plan_.tenants.store(to_size(scheduler_.tenants()));
  plan_.seconds_each.store(pace_.seconds_each(now));
}

double Inbox::expected_wait(std::size_t own) const {
  const std::size_t queued = plan_.queued.load();
  if (queued == 0) return 0;
  const std::size_t then = plan_.under_way.load(), all = under_way();
  const std::size_t ahead = queued + (all > then ? all - then : 0);
  const std::size_t ahead_max = own * std::max<std::size_t>(1, plan_.tenants.load());
  return static_cast<double>(std::min(ahead, ahead_max)) * plan_.seconds_each.load();
}

}  // namespace ingot
