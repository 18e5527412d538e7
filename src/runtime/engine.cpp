// Engine: the loop drain -> plan -> run -> sample -> deliver -> commit.
#include "runtime/engine.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <system_error>

#include "base/errno_text.h"
#include "base/error.h"
#include "base/signal_stack.h"
#include "base/text.h"
#include "kv/mutant.h"

namespace ingot {

namespace {

RequestLimits request_limits(const ModelParts& parts) {
  const Spec& spec = parts.executor.model().spec;
  return {.vocab = spec.vocab,
          .ids = std::min(parts.ids, spec.vocab),
          .hidden = spec.hidden,
          .context = parts.executor.limits().context,
          .prompt_logprobs = parts.executor.limits().score_top,
          .text = parts.tokenizer != nullptr,
          .hidden_all = parts.executor.limits().out_rows >= parts.executor.limits().rows};
}

EngineSetup world_of(const ModelParts& parts) {
  return {.steps = std::make_unique<ModelSteps>(parts.executor, parts.pool, parts.kernels,
                                                parts.ids, parts.profiled),
          .limits = request_limits(parts),
          .tokenizer = parts.tokenizer,
          .end_ids = parts.end_ids};
}

SchedulerLimits scheduler_limits(const StepRunner& steps, const EngineOptions& options) {
  return {.rows = steps.limits().rows,
          .sequences = steps.limits().sequences,
          .pipeline_depth = options.pipeline_depth,
          .step_seconds = options.step_seconds,
          .preemptions_max = options.preemptions_max,
          .prefix_cache = options.prefix_cache,
          .prefix = options.prefix,
          .waiting = options.waiting};
}

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

EngineOptions with_clock(EngineOptions options) {
  if (!options.now) options.now = steady_seconds;
  return options;
}

/// A CPU that changes hands loses what is in its caches: short steps follow each other for so long
/// before others have a turn.
constexpr double kOwnTurnSeconds = 0.004;
/// A step that was under way at the end of a drain may take so much longer.
constexpr double kDrainGraceSeconds = 1;
constexpr double kDrainPollSecondsMin = 0.01, kDrainPollSecondsMax = 0.25;

/// Calls that wait for the end of a step.
constexpr std::size_t kErrandsMax = 64;

/// Allocates nothing: a string holds so short a text within itself.
Error out_of_memory() { return {ErrorCode::kDoesNotFit, "out of memory"}; }

/// A copy for an outcome, or what kept it from being made.
std::optional<Error> copy_of(const Error* error) {
  if (error == nullptr) return std::nullopt;
  try {
    return *error;
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
}

std::string milliseconds(double seconds) {
  return cat(static_cast<std::int64_t>(seconds * 1000 + 0.5), " ms");
}

Error too_late(std::string_view parameter, double given, double predicted) {
  return {ErrorCode::kUnavailable,
          cat(parameter, ": ", milliseconds(given),
              " cannot be kept: at the rates measured here it takes ", milliseconds(predicted),
              " at the least; try again later or allow more time")};
}

Error time_is_over(Dropped::Reason reason) {
  if (reason == Dropped::Reason::kQueue) {
    return {ErrorCode::kTimeout, "queue_timeout: it waited too long for its turn"};
  }
  const bool first = reason == Dropped::Reason::kFirstToken;
  return {ErrorCode::kTimeout,
          first ? "max_ttft_ms: the time is over in which the first token had to come"
                : "The time is over in which the request had to end"};
}

}  // namespace

Engine::Engine(const ModelParts& parts, const EngineOptions& options)
    : Engine(world_of(parts), options) {}

Engine::Engine(EngineSetup&& world, const EngineOptions& options)
    : steps_(std::move(world.steps)),
      tokenizer_(world.tokenizer),
      end_ids_(std::move(world.end_ids)),
      options_(with_clock(options)),
      request_limits_(world.limits),
      inbox_(options.waiting_max + static_cast<std::size_t>(steps_->limits().sequences)),
      errands_(kErrandsMax),
      bell_(std::make_shared<Doorbell>()),
      clock_(std::make_shared<const Clock>(options_.now)),
      scheduler_(steps_->cache(), scheduler_limits(*steps_, options_)) {
  INGOT_CHECK(options.deltas_max > 0, "streams without room");
  made_ = options_.now();
  const auto sequences = static_cast<std::size_t>(steps_->limits().sequences);
  drawing_.reserve(sequences);
  sampled_.reserve(sequences);
  touched_.reserve(sequences);
  rows_.reserve(sequences);
  drawn_.resize(sequences);
  tokens_.reserve(sequences);
  freeing_.reserve(inbox_.capacity());
  std::erase_if(end_ids_, [&](std::int32_t id) { return id < 0 || id >= request_limits_.ids; });
}

std::optional<Stream> Engine::submit(Request&& request) {
  auto streams = submit_choices(std::move(request), 1);
  if (streams.empty()) return std::nullopt;
  return std::move(streams.front());
}

void Engine::check_submission(const Request& request, std::int32_t choices) const {
  check_request(request, request_limits_);
  if (choices < 1 || choices > kChoicesMax) {
    throw Error(ErrorCode::kInvalid,
                cat("n: ", choices, " is not in the range from 1 to ", kChoicesMax));
  }
  const std::int64_t rows = std::ssize(request.prompt) + request.embedding_rows;
  const std::int64_t most = rows + std::min(request.max_tokens, request_limits_.context - rows);
  if (!scheduler_.fits_alone(most)) {
    throw Error(ErrorCode::kInvalid, cat("max_tokens: ", rows, " tokens and ", most - rows,
                                         " more are too many for the KV pool"));
  }
}

Rejection Engine::why_refused() const {
  if (failed_.load()) return Rejection::kFailed;
  return draining_.load() ? Rejection::kDraining : Rejection::kFull;
}

std::vector<Stream> Engine::submit_choices(Request&& request, std::int32_t choices) {
  try {
    check_submission(request, choices);
  } catch (const Error&) {
    observe_rejection(Rejection::kInvalid, 1);
    throw;
  }
  const auto count = static_cast<std::size_t>(choices);
  Submission submission;
  submission.id = last_id_.fetch_add(count) + 1;
  submission.time = options_.now();
  std::vector<Stream> streams;
  for (std::size_t i = 0; i < count; ++i) {
    submission.channels.push_back(
        std::make_shared<Channel>(options_.deltas_max, bell_, clock_, request.notify));
    streams.emplace_back(submission.id + i, submission.channels.back());
  }
  submission.request = std::move(request);
  if (!hand_in(std::move(submission))) {
    // What is not handed in stays as it was.
    request = std::move(submission.request);  // NOLINT(bugprone-use-after-move)
    observe_rejection(why_refused(), count);
    return {};
  }
  bell_->ring();
  return streams;
}

/// Whether there is room for it; if not, it is as it was.
bool Engine::hand_in(Submission&& submission) {
  const std::size_t count = submission.channels.size();
  const auto take_back = [&] {
    under_way_.fetch_sub(count);
    // Whoever looked for the end of the drain meanwhile took these for requests.
    if (draining_.load()) bell_->ring();
  };
  const std::size_t before = under_way_.fetch_add(count);
  try {
    const bool has_room = !draining_.load() && before + count <= inbox_.capacity();
    if (has_room && inbox_.try_push(std::move(submission))) return true;
  } catch (const std::bad_alloc&) {
    take_back();
    throw;
  }
  take_back();
  return false;
}

void Engine::prepare() {
  INGOT_CHECK(last_id_.load() == 0 && !thread_.joinable(), "prepared once there were requests");
  steps_->warm_up();
}

void Engine::start() {
  INGOT_CHECK(!thread_.joinable(), "an engine has one thread");
  try {
    if (options_.step_limit_seconds < kNever) {
      watcher_ = std::thread([this] { run_watcher(); });
    }
    thread_ = std::thread([this] { run_thread(); });
    has_thread_.store(true);
  } catch (const std::system_error& refused) {
    throw Error(ErrorCode::kDoesNotFit,
                cat("cannot start the engine's thread: ", errno_text(refused.code().value())));
  }
}

void Engine::run_thread() {
  const SignalStack stack;
  double gave_way = options_.now();
  while (!stopping_.load()) {
    if (turn()) {
      // Who reads and writes for others has its turn between steps, and not in the midst of one.
      if (options_.now() - gave_way < kOwnTurnSeconds) continue;
      std::this_thread::yield();
      gave_way = options_.now();
      continue;
    }
    const double next = next_event();
    if (next < kNever) {
      bell_->wait_for(std::max(0.001, next - options_.now()));
    } else {
      bell_->wait();
    }
  }
}

/// Often enough that a step is given up within a quarter of its limit, or a second.
void Engine::run_watcher() {
  const SignalStack stack;
  const double period = std::min(1.0, options_.step_limit_seconds / 4);
  while (!unwatched_.load() && !watch()) watcher_bell_.wait_for(period);
}

bool Engine::watch() {
  const double limit = options_.step_limit_seconds;
  const auto held = watch_.seize(options_.now() - limit);
  if (held && !has_failed()) {
    drop_errands();
    give_up(Error(ErrorCode::kInternal, cat("a step takes longer than ", limit, " s")));
  }
  return has_failed();
}

void Engine::require_alive() const {
  if (has_failed()) {
    throw Error(ErrorCode::kInternal, cat("the engine cannot go on: ", failure_->message()));
  }
}

/// When something is due that nobody rings for.
double Engine::next_event() const {
  double next = active_.empty() ? kNever : drain_by_.load();
  for (const auto& [id, continuation] : active_) {
    const SchedulingTerms& terms = continuation->sequence().terms;
    next = std::min({next, continuation->paused_since() + options_.stall_seconds, terms.begin_by,
                     terms.first_token_by, terms.end_by});
  }
  return next;
}

bool Engine::wakes() { return bell_->take() || next_event() <= options_.now(); }

void Engine::visit(FunctionRef<void(const RunningRequest&)> visit) const {
  for (const auto& [id, continuation] : active_) visit(*continuation);
}

bool Engine::advance() {
  INGOT_CHECK(!thread_.joinable(), "this engine has a thread");
  return turn();
}

bool Engine::step() {
  advance();
  return !active_.empty() || inbox_.size() > 0;
}

void Engine::begin_drain(double seconds) {
  drain_by_.store(options_.now() + seconds);
  draining_.store(true);
  if (!INGOT_MUTANT(17)) bell_->ring();
}

/// It is the engine's clock that decides, which may not be the system's: so the wait is never long.
bool Engine::wait_drained() {
  double left = 0;
  while (!drained_.wait_for(std::clamp(left, kDrainPollSecondsMin, kDrainPollSecondsMax))) {
    left = drain_by_.load() + kDrainGraceSeconds - options_.now();
    if (left <= 0 && timer_.is_under_way()) {
      // The step may never end, and nobody is to wait for its end for ever.
      drop_errands();
      return false;
    }
  }
  drained_.ring();  // for whoever else waits
  return !drained_by_force_.load();
}

void Engine::stop() {
  stopping_.store(true);
  draining_.store(true);
  inbox_.close();
  errands_.close();
  bell_->ring();
  if (thread_.joinable()) thread_.join();
  unwatched_.store(true);
  watcher_bell_.ring();
  if (watcher_.joinable()) watcher_.join();
  run_errands();
  if (under_way() > 0) drained_by_force_.store(true);
  end_inbox(FinishReason::kCancelled, nullptr);
  end_active(FinishReason::kCancelled, nullptr);
  drained_.ring();
}

bool Engine::turn() {
  turn_timer_.begin(options_.now());
  const bool any = take_turn();
  turn_timer_.end();
  timer_.end();
  return any;
}

/// Whether anything was computed or may be now. What fails for all outside of the model (no memory)
/// ends the requests that run, and the engine goes on with the next ones. Ending them allocates
/// nothing.
bool Engine::take_turn() {
  const double now = options_.now();
  if (has_failed()) {
    run_errands();
    return false;
  }
  try {
    drain(now);
    const std::int32_t depth = scheduler_.limits().pipeline_depth;
    bool planned = false, dropped = false;
    if (scheduler_.under_way() < depth) {
      end_dropped(scheduler_.late(now));
      const Step& step = scheduler_.plan();
      times_[step.number % 2].planned = now;
      publish_queue_state(now);
      dropped = end_dropped(scheduler_.dropped());
      planned = scheduler_.under_way() > 0 && !step.parts.empty();
      if (planned) compute(step);
      if (has_failed()) return true;
    }
    if (scheduler_.under_way() == depth || (!planned && scheduler_.under_way() > 0)) {
      run(scheduler_.step_under_way(0));
      return true;
    }
    if (!planned) observe_state();
    return planned || dropped;
  } catch (const Error& error) {
    end_active(FinishReason::kError, &error);
  } catch (const std::bad_alloc&) {
    const Error error = out_of_memory();
    end_active(FinishReason::kError, &error);
  } catch (const std::exception& other) {
    const Error error(ErrorCode::kInternal, other.what());
    end_active(FinishReason::kError, &error);
  }
  return true;
}

/// Cancelled ones go first: the room that one leaves may be what those that wait need, and the
/// doorbell rang for it once.
void Engine::drain(double now) {
  run_errands();
  const bool over = now >= drain_by_.load() && !INGOT_MUTANT(17);
  if (over && (!active_.empty() || inbox_.size() > 0)) drained_by_force_.store(true);
  take_in(now);
  for (auto& [id, continuation] : active_) poll_reader(*continuation, over, now);
  if (some_ended_) drop_ended();
  if (draining_.load() && under_way() == 0) drained_.ring();
}

/// Ends requests whose reader went away or has stalled, those with nothing to compute, and all
/// where the time to drain is over.
void Engine::poll_reader(RunningRequest& continuation, bool drain_is_over, double now) {
  if (continuation.ended()) return;
  continuation.poll_reader(now);
  const bool stalled = now - continuation.paused_since() >= options_.stall_seconds;
  if (drain_is_over || stalled || (continuation.is_cancelled() && !INGOT_MUTANT(14))) {
    continuation.finish(FinishReason::kCancelled);
  } else if (continuation.is_done()) {
    continuation.finish(FinishReason::kLength);
  }
  some_ended_ = some_ended_ || continuation.ended();
}

void Engine::between_steps(const std::function<void()>& body) {
  if (!has_thread_.load()) return body();
  std::packaged_task<void()> errand(body);
  std::future<void> done = errand.get_future();
  if (!errands_.try_push(std::move(errand))) {
    throw Error(ErrorCode::kUnavailable, "the engine has stopped, or too many calls wait for it");
  }
  bell_->ring();
  try {
    done.get();
  } catch (const std::future_error&) {
    throw Error(ErrorCode::kUnavailable, "the engine cannot go on");
  }
}

/// Those that are there now: what they ask for next waits for a step.
void Engine::run_errands() {
  for (std::size_t left = errands_.size(); left > 0; --left) {
    if (auto errand = errands_.try_pop()) (*errand)();  // unless they were dropped meanwhile
  }
}

void Engine::take_in(double now) {
  while (auto submission = inbox_.try_pop()) admit(std::move(*submission), now);
}

void Engine::admit(Submission&& submission, double now) {
  auto& ends = submission.request.sampling.end_ids;
  try {
    if (!submission.request.ignore_eos) ends.insert(ends.end(), end_ids_.begin(), end_ids_.end());
  } catch (const std::bad_alloc&) {
    for (std::size_t i = 0; i < submission.channels.size(); ++i) {
      refuse(submission, i, out_of_memory());
    }
    return;
  }
  for (std::size_t i = 0; i < submission.channels.size(); ++i) {
    try {
      admit_choice(submission, i, now);
    } catch (const Error& error) {
      refuse(submission, i, error);
    } catch (const std::bad_alloc&) {
      refuse(submission, i, out_of_memory());
    }
  }
}

/// The choices after the first share its prompt, where it is still there.
void Engine::admit_choice(Submission& submission, std::size_t choice, double now) {
  const std::uint64_t id = submission.id + choice;
  const bool is_last = choice + 1 == submission.channels.size();
  Request request = is_last ? std::move(submission.request) : submission.request;
  request.sampling.choice += static_cast<std::uint32_t>(choice);
  // Where the first one has begun, the others wait for their own kind.
  if (choice > 0) request.queue_seconds = kNever;
  auto made = std::make_unique<RunningRequest>(id, std::move(request), submission.channels[choice],
                                               submission.time, steps_->cache(), request_limits_,
                                               tokenizer_);
  RunningRequest& continuation = *active_.emplace(id, std::move(made)).first->second;
  is_idle_ = false;
  if (choice == 0) continuation.set_choices(submission.channels.size());
  Sequence& sequence = continuation.sequence();
  const auto first = active_.find(submission.id);
  if (choice > 0 && first != active_.end()) sequence.fork_of = &first->second->sequence();
  scheduler_.add(sequence);
  const SchedulingTerms& terms = sequence.terms;
  // Who shares the first one's prompt is in time where that one is.
  if (!terms.has_deadline() || sequence.fork_of != nullptr) return;
  const MinSeconds least = scheduler_.min_seconds(sequence, now);
  const double waited = now - terms.arrival;
  if (now + least.first_token > terms.first_token_by) {
    throw too_late("max_ttft_ms", terms.first_token_by - terms.arrival, waited + least.first_token);
  }
  if (now + least.end > terms.end_by) {
    throw too_late(continuation.end_limit(), terms.end_by - terms.arrival, waited + least.end);
  }
}

/// A request that could not be taken in.
void Engine::refuse(const Submission& submission, std::size_t choice, const Error& error) {
  if (const auto at = active_.find(submission.id + choice); at != active_.end()) {
    scheduler_.remove(at->second->sequence());
    active_.erase(at);
  }
  observe_unstarted(submission, choice, FinishReason::kError);
  const bool is_late = error.code() == ErrorCode::kUnavailable;
  observe_rejection(is_late ? Rejection::kDeadline : Rejection::kMemory, 1);
  Channel& channel = *submission.channels[choice];
  channel.outcome.finish = FinishReason::kError;
  channel.outcome.error = copy_of(&error);
  under_way_.fetch_sub(1);
  channel.close();
}

/// Ends those that the scheduler gave up. Whether there were any: their room may be what others
/// wait for.
bool Engine::end_dropped(std::span<const Dropped> all) {
  bool any = false;
  for (const Dropped& dropped : all) {
    RunningRequest& continuation = *dropped.sequence->request;
    if (continuation.ended()) continue;
    any = true;
    if (dropped.reason == Dropped::Reason::kNoMemory) {
      continuation.finish(FinishReason::kError, out_of_memory());
      continue;
    }
    continuation.finish(FinishReason::kError, time_is_over(dropped.reason));
  }
  if (any) drop_ended();
  return any;
}

/// What the runner fails in is tried once more; if that fails too, no step can be computed any
/// more. Whether it was done.
bool Engine::attempt(FunctionRef<void(bool again)> body) {
  for (const bool again : {false, true}) {
    try {
      const double now = options_.now();
      timer_.begin(now);
      const StepWatch::Call call(watch_, now);
      body(again);
      break;
    } catch (const Error& error) {
      if (again && !has_failed()) give_up(error);
    } catch (const std::bad_alloc&) {
      if (again && !has_failed()) throw;  // of the host's memory, which the next step may have
    }
  }
  if (has_failed()) clear();
  return !has_failed();
}

void Engine::compute(const Step& step) {
  const double now = options_.now();
  times_[step.number % 2].begun = now;
  for (const StepPart& part : step.parts) of(part).started(now);
  attempt([&](bool) { steps_->run(step); });
}

/// The oldest step under way failed late: those behind it went on with what it did not give.
void Engine::run_again() {
  steps_->drain();
  for (std::int32_t i = 0; i < scheduler_.under_way(); ++i) {
    steps_->run_again(scheduler_.step_under_way(i));
  }
}

/// No step can be computed any more. By the thread that has the engine, which may be the one that
/// watches: so nothing happens here to what a step under way uses.
void Engine::give_up(const Error& error) {
  failure_ = error;
  failed_.store(true);
  inbox_.close();
  end_inbox(FinishReason::kError, &error);
  end_streams(FinishReason::kError, &error);
  // Nobody knows when what they hold comes free.
  for (auto& [id, continuation] : active_) continuation->tell_end();
  drained_by_force_.store(true);
  drained_.ring();
  if (options_.failed) options_.failed(error);
}

/// Takes what a step gave.
void Engine::run(const Step& step) {
  const bool done = attempt([&](bool again) {
    if (again) run_again();
    steps_->wait(step);
  });
  if (!done) return;
  const double computed = options_.now();
  sample(step);
  const double sampled = options_.now();
  deliver(step);
  const double delivered = options_.now();
  const double begun = std::max(committed_, times_[step.number % 2].begun);
  for (const StepPart& part : step.parts) {
    if (part.sequence != nullptr) touched_.push_back(part.sequence->request);
  }
  scheduler_.commit(tokens_, sampled - begun);
  ++commits_;
  for (RunningRequest* const continuation : touched_) {
    if (!continuation->ended() && continuation->is_done()) {
      continuation->finish(FinishReason::kLength);
    }
    some_ended_ = some_ended_ || continuation->ended();
  }
  touched_.clear();
  committed_ = sampled;
  if (some_ended_) drop_ended();
  observe_freed();
  if (options_.observer != nullptr) observe(step, {computed, sampled, delivered});
}

/// The step's record; its parts are gone, its sums are not.
void Engine::observe(const Step& step, const PhaseEnds& ends) {
  const StepTime& time = times_[step.number % 2];
  const double now = options_.now();
  StepRecord r = state();
  r.number = static_cast<std::uint64_t>(step.number) + 1;
  r.start_seconds = time.planned - made_;
  r.seconds = now - time.planned;
  r.plan_seconds = time.begun - time.planned;
  r.forward_seconds = ends.computed - time.begun;
  r.sample_seconds = ends.sampled - ends.computed;
  r.deliver_seconds = ends.delivered - ends.sampled;
  r.commit_seconds = now - ends.delivered;
  r.decode_rows = step.decode_rows;
  r.prefill_rows = step.rows - step.decode_rows;
  r.output_rows = step.outputs;
  r.scored_rows = step.scores;
  r.row_budget = step.rows_max;
  r.sequences = step.sequences;
  if (const OpSeconds* ops = steps_->op_seconds(); ops != nullptr) {
    r.profiled = true;
    r.op_seconds = *ops;
  }
  options_.observer->step(r);
}

void Engine::observe_state() {
  if (options_.observer != nullptr) options_.observer->state(state());
}

void Engine::observe_token(const RunningRequest& continuation) {
  if (options_.observer == nullptr) return;
  if (continuation.generated() > 1) return options_.observer->token(continuation.last_gap());
  options_.observer->first_token(continuation.record(made_, options_.now()));
}

/// The end of a request that never ran.
void Engine::observe_unstarted(const Submission& submission, std::size_t choice,
                               FinishReason reason) {
  if (options_.observer == nullptr) return;
  options_.observer->request({.id = submission.id + choice,
                              .queued_seconds = submission.time - made_,
                              .end_seconds = options_.now() - made_,
                              .finish = to_string(reason)});
}

/// Steps that are under way may still read its blocks.
void Engine::observe_cancelled(const RunningRequest& continuation) {
  const double cancelled_at = continuation.cancelled_at();
  if (options_.observer == nullptr || cancelled_at == kNever) return;
  freeing_.push_back({.cancelled_at = cancelled_at, .commits = commits_ + scheduler_.under_way()});
}

void Engine::observe_freed() {
  if (freeing_.empty()) return;
  const double now = options_.now();
  std::erase_if(freeing_, [&](const Freeing& f) {
    if (f.commits > commits_ && scheduler_.under_way() > 0) return false;
    options_.observer->freed(now - f.cancelled_at);
    return true;
  });
}

void Engine::observe_rejection(Rejection reason, std::size_t requests) const {
  if (options_.observer != nullptr) options_.observer->rejected(reason, requests);
}

/// What holds now, in a record that has nothing of a step.
StepRecord Engine::state() const {
  StepRecord r{.running = static_cast<std::int32_t>(scheduler_.running()),
               .waiting = static_cast<std::int32_t>(scheduler_.waiting()),
               .preemptions = scheduler_.preemptions(),
               .cached_tokens = scheduler_.cached_tokens()};
  for (const auto& [id, continuation] : active_) {
    const Sequence& s = continuation->sequence();
    r.paused += s.paused ? 1 : 0;
    r.ready += s.admitted && !s.paused ? 1 : 0;
  }
  const KvCache& cache = steps_->cache();
  for (std::int32_t g = 0; g < cache.groups(); ++g) {
    const BlockPool& pool = cache.pool(g);
    r.blocks_free += pool.free();
    r.blocks_evictable += pool.evictable();
    r.blocks_total += pool.total();
    r.blocks_reserved += scheduler_.reserved(g);
  }
  r.blocks_referenced = r.blocks_total - r.blocks_free - r.blocks_evictable;
  return r;
}

void Engine::sample(const Step& step) {
  drawing_.clear();
  sampled_.clear();
  rows_.clear();
  std::int64_t output = 0;
  for (const StepPart& part : step.parts) {
    if (part.outputs == 0) continue;
    const std::int64_t row = output++;
    drawing_.push_back(part.sequence == nullptr ? nullptr : &of(part));
    if (drawing_.back() == nullptr) continue;
    RunningRequest& continuation = *drawing_.back();
    // Here, where running out of memory ends the request; in the pool's loop it would end all.
    guarded(continuation, [&] { drawn_[rows_.size()].top.reserve(continuation.best_tokens()); });
    if (continuation.ended()) {
      drawing_.back() = nullptr;
      continue;
    }
    rows_.push_back(continuation.row(steps_->logits(row)));
    sampled_.push_back(&continuation);
  }
  if (rows_.empty()) return;
  steps_->sample(rows_, std::span(drawn_).first(rows_.size()), [&](std::int64_t i) {
    const auto row = static_cast<std::size_t>(i);
    sampled_[row]->add_to_digest(rows_[row].logits);
  });
}

/// What runs out of memory ends alone.
void Engine::guarded(RunningRequest& continuation, FunctionRef<void()> body) {
  try {
    body();
  } catch (const std::bad_alloc&) {
    if (!continuation.ended()) continuation.finish(FinishReason::kError, out_of_memory());
  }
}

void Engine::deliver(const Step& step) {
  std::int64_t score = 0;
  for (const StepPart& part : step.parts) {
    for (std::int32_t i = 0; i < part.scores; ++i, ++score) {
      if (part.sequence == nullptr) continue;
      guarded(of(part), [&] { of(part).accept_score(steps_->score(score)); });
    }
  }
  std::int64_t hidden = 0;
  for (const bool final_norm : {true, false}) {
    for (const StepPart& part : step.parts) {
      if (part.final_norm != final_norm) continue;
      for (std::int32_t i = 0; i < part.hidden; ++i, ++hidden) {
        if (part.sequence != nullptr) of(part).accept_hidden(steps_->hidden(hidden));
      }
    }
  }
  tokens_.clear();
  const double now = options_.now();
  std::size_t row = 0;
  for (RunningRequest* const continuation : drawing_) {
    tokens_.push_back(-1);
    if (continuation == nullptr) continue;
    Drawn& drawn = drawn_[row++];
    const std::int64_t before = continuation->generated();
    guarded(*continuation,
            [&] { tokens_.back() = continuation->accept_token(std::move(drawn), now); });
    if (continuation->generated() > before) observe_token(*continuation);
  }
}

void Engine::drop_ended() {
  some_ended_ = false;
  for (auto at = active_.begin(); at != active_.end();) {
    RunningRequest& continuation = *at->second;
    if (!continuation.ended() || INGOT_MUTANT(12)) {
      ++at;
      continue;
    }
    if (options_.observer != nullptr) {
      options_.observer->request(continuation.record(made_, options_.now()));
    }
    scheduler_.remove(continuation.sequence());
    observe_cancelled(continuation);
    under_way_.fetch_sub(1);
    continuation.tell_end();
    at = active_.erase(at);
  }
  observe_freed();
  if (!is_idle_ && active_.empty()) check_idle();
}

void Engine::end_inbox(FinishReason reason, const Error* error) {
  while (auto submission = inbox_.try_pop()) {
    for (std::size_t i = 0; i < submission->channels.size(); ++i) {
      Channel& channel = *submission->channels[i];
      channel.outcome.finish = reason;
      channel.outcome.error = copy_of(error);
      observe_unstarted(*submission, i, reason);
      under_way_.fetch_sub(1);
      channel.close();
    }
  }
}

void Engine::end_streams(FinishReason reason, const Error* error) {
  for (auto& [id, continuation] : active_) {
    if (!continuation->ended()) continuation->finish(reason, copy_of(error));
  }
}

}  // namespace ingot
