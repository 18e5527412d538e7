// Engine: the loop drain -> plan -> run -> sample -> deliver -> commit.
#include "runtime/engine.h"

#include <algorithm>
#include <new>
#include <system_error>

#include "base/check.h"
#include "base/errno_text.h"
#include "base/error.h"
#include "base/index.h"
#include "base/signal_stack.h"
#include "base/text.h"
#include "kv/mutant.h"
#include "runtime/draft/speculation.h"
#include "runtime/engine_errors.h"

namespace ingot {

namespace {

/// Seconds between two yields of the engine's thread to other threads. After a yield the CPU's
/// caches hold other data: shorter periods slow short steps down, longer ones delay the readers.
constexpr double kYieldSeconds = 0.004;
/// Seconds that `wait_drained` waits after the drain's time limit for a step to return.
constexpr double kDrainGraceSeconds = 1;
/// Bounds in seconds of one sleep in `wait_drained`. Longer sleeps would notice late that the drain
/// is over, because the engine's clock decides it and may be simulated.
constexpr double kDrainPollSecondsMin = 0.01, kDrainPollSecondsMax = 0.25;

}  // namespace

Engine::Engine(const ModelParts& parts, const EngineOptions& options)
    : Engine(engine_setup(parts, options), options) {}

Engine::Engine(EngineSetup&& setup, const EngineOptions& options)
    : options_(with_clock(options)),
      steps_(std::move(setup.steps)),
      scheduler_(steps_->cache(), scheduler_limits(*steps_, options_)),
      resting_(scheduler_),
      speculation_(std::make_unique<Speculation>(options_.speculation, scheduler_, *steps_)),
      reporter_(options_.observer,
                {.now = options_.now,
                 .scheduler = scheduler_,
                 .runner = *steps_,
                 .requests = requests_,
                 .under_way = [this] { return inbox_.under_way(); }},
                ingot::under_way_max(*steps_, options_)),
      bell_(std::make_shared<Doorbell>()),
      inbox_({.request = setup.limits,
              .under_way_max = ingot::under_way_max(*steps_, options_),
              .deltas_max = options_.deltas_max},
             scheduler_, reporter_, bell_, options_.now, setup.tokenizer),
      intake_({.runner = *steps_,
               .scheduler = scheduler_,
               .requests = requests_,
               .resting = resting_,
               .inbox = inbox_,
               .reporter = reporter_},
              setup.tokenizer, std::move(setup.end_ids)),
      errands_(*bell_),
      guard_(options_.now, options_.step_limit_seconds),
      results_(*steps_, reporter_, steps_->limits().sequences,
               steps_->limits().sequences + steps_->limits().draft_rows,
               options_.speculation.model.get()) {
  in_step_.reserve(to_size(steps_->limits().sequences));
}

Engine::~Engine() { stop(); }

std::optional<Stream> Engine::submit(Request&& request) {
  auto streams = submit_choices(std::move(request), 1);
  if (streams.empty()) return std::nullopt;
  return std::move(streams.front());
}

void Engine::prepare() {
  INGOT_CHECK(!inbox_.was_used() && !thread_.joinable(), "prepared once there were requests");
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
  double yielded = options_.now();
  while (!is_stopping_.load()) {
    if (tick()) {
      // Yields between two steps, so that threads of connections do not run during a step.
      if (options_.now() - yielded < kYieldSeconds) continue;
      std::this_thread::yield();
      yielded = options_.now();
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

/// Calls `watch` four times within the time limit of a step, but at least once a second.
void Engine::run_watcher() {
  const SignalStack stack;
  const double period = std::min(1.0, options_.step_limit_seconds / 4);
  while (!is_unwatched_.load() && !watch()) watcher_bell_.wait_for(period);
}

bool Engine::watch() {
  return guard_.watch([this](const Error& error) {
    errands_.drop();
    give_up(error);
  });
}

/// The time of the next event that rings no bell.
double Engine::next_event() const {
  const bool is_awaited = inbox_.expects_successors() && !was_forced_.load();
  double next = requests_.empty() && !is_awaited ? kNever : drain_by_.load();
  for (const auto& [id, request] : requests_) {
    const SchedulingTerms& terms = request->sequence().terms;
    next = std::min({next, request->paused_since() + options_.stall_seconds, terms.begin_by,
                     terms.first_token_by, terms.end_by});
  }
  return next;
}

bool Engine::wakes() { return bell_->take() || next_event() <= options_.now(); }

void Engine::visit(FunctionRef<void(const RunningRequest&)> visit) const {
  for (const auto& [id, request] : requests_) visit(*request);
}

bool Engine::advance() {
  INGOT_CHECK(!thread_.joinable(), "this engine has a thread");
  return tick();
}

bool Engine::step() {
  advance();
  return !requests_.empty() || !inbox_.is_empty();
}

void Engine::begin_drain(double seconds) {
  drain_by_.store(options_.now() + seconds);
  inbox_.refuse_all(Rejection::kDraining);
  if (!INGOT_MUTANT(17)) bell_->ring();
}

bool Engine::wait_drained() {
  double left = 0;
  while (!drained_.wait_for(std::clamp(left, kDrainPollSecondsMin, kDrainPollSecondsMax))) {
    left = drain_by_.load() + kDrainGraceSeconds - options_.now();
    if (left <= 0 && guard_.is_in_step()) {
      errands_.drop();  // the step may never return, and their callers would wait for it
      return false;
    }
  }
  drained_.ring();  // for further callers
  return !was_forced_.load();
}

void Engine::stop() {
  is_stopping_.store(true);
  inbox_.refuse_all(Rejection::kDraining);
  errands_.close();
  bell_->ring();
  if (thread_.joinable()) thread_.join();
  is_unwatched_.store(true);
  watcher_bell_.ring();
  if (watcher_.joinable()) watcher_.join();
  errands_.run();
  if (under_way() > 0) was_forced_.store(true);
  inbox_.close(FinishReason::kCancelled, nullptr);
  end_requests(FinishReason::kCancelled, nullptr);
  clear();
  drained_.ring();
}

void Engine::between_steps(const std::function<void()>& body) {
  if (!has_thread_.load()) return body();
  errands_.call(body);
}

bool Engine::tick() {
  tick_.begin(options_.now());
  const bool any = run_tick();
  tick_.end();
  guard_.end_step();
  return any;
}

/// Returns whether anything was computed or may be computed now. An exception from outside the
/// model (no memory) ends the current requests, which allocates nothing. Later requests still run.
bool Engine::run_tick() {
  const double now = options_.now();
  if (has_failed()) {
    errands_.run();
    return false;
  }
  try {
    drain(now);
    const std::int32_t depth = scheduler_.limits().pipeline_depth;
    bool planned = false, dropped = false;
    if (scheduler_.under_way() < depth) {
      end_dropped(scheduler_.late(now));
      guard_.call([this] { speculation_->propose(); });
      const Step& step = scheduler_.plan();
      phases_[step.number % 2].tick_begun = now;
      inbox_.publish_queue_state(now);
      dropped = end_dropped(scheduler_.dropped());
      planned = scheduler_.under_way() > 0 && !step.parts.empty();
      if (planned) compute(step);
      if (has_failed()) return true;
    }
    if (scheduler_.under_way() == depth || (!planned && scheduler_.under_way() > 0)) {
      finish(scheduler_.step_under_way(0));
      return true;
    }
    if (!planned) reporter_.state();
    return planned || dropped;
  } catch (const Error& error) {
    end_all(error);
  } catch (const std::bad_alloc&) {
    end_all(out_of_memory());
  } catch (const std::exception& other) {
    end_all(Error(ErrorCode::kInternal, other.what()));
  }
  return true;
}

/// Polls readers before the plan, because a waiting request may need the blocks of a cancelled one,
/// and the bell rings only once for the cancel.
void Engine::drain(double now) {
  errands_.run();
  resting_.drop_ended();
  const bool is_over = now >= drain_by_.load() && !INGOT_MUTANT(17);
  const bool awaits_more = inbox_.expects_successors();
  if (is_over && (awaits_more || !requests_.empty() || !inbox_.is_empty())) was_forced_.store(true);
  while (auto submission = inbox_.try_pop()) intake_.enqueue(std::move(*submission), now);
  is_idle_ = is_idle_ && requests_.empty();
  for (auto& [id, request] : requests_) poll_reader(*request, is_over, now);
  if (some_ended_) drop_ended();
  // `awaits_more` was read before `under_way`, which counts a successor first.
  const bool may_end = is_over || !awaits_more;
  if (inbox_.is_draining() && may_end && under_way() == 0) drained_.ring();
}

/// Pauses or resumes a request, depending on its reader's queue. Ends it if its reader cancelled it
/// or stalls, if the drain is over, or if it has nothing to compute.
void Engine::poll_reader(RunningRequest& request, bool is_drain_over, double now) {
  if (request.ended()) return;
  request.poll_reader(now);
  const bool stalls = now - request.paused_since() >= options_.stall_seconds;
  if (is_drain_over || stalls || (request.is_cancelled() && !INGOT_MUTANT(14))) {
    request.finish(FinishReason::kCancelled);
  } else if (request.is_done()) {
    request.finish(request.done_reason());
  }
  some_ended_ = some_ended_ || request.ended();
}

/// Ends the requests of dropped sequences. Returns whether there were any, because waiting requests
/// can then use their blocks.
bool Engine::end_dropped(std::span<const Dropped> all) {
  bool any = false;
  for (const Dropped& dropped : all) {
    RunningRequest& request = *dropped.sequence->request;
    if (request.ended()) continue;
    any = true;
    request.finish(FinishReason::kError, error_of(dropped.reason));
  }
  if (any) drop_ended();
  return any;
}

/// Begins a step.
void Engine::compute(const Step& step) {
  const double now = options_.now();
  phases_[step.number % 2].planned = now;
  for (const StepPart& part : step.parts) part.sequence->request->started(now);
  const std::span<const SampleRow> draws = results_.draws(step);
  static_cast<void>(attempt([&](bool) { steps_->run(step, draws); }));
}

/// Waits for a step, takes its results and commits them.
void Engine::finish(const Step& step) {
  const bool is_computed = attempt([&](bool is_retry) {
    if (is_retry) {
      // The oldest step under way failed after `run`. Later steps read keys that it did not write.
      steps_->drain();
      for (std::int32_t i = 0; i < scheduler_.under_way(); ++i) {
        steps_->run_again(scheduler_.step_under_way(i));
      }
    }
    if (!INGOT_MUTANT(24)) steps_->wait(step);
  });
  if (!is_computed) return;
  StepPhases& phases = phases_[step.number % 2];
  phases.computed = options_.now();
  results_.sample(step);
  phases.sampled = options_.now();
  const std::span<const std::int32_t> tokens = results_.deliver(step, options_.now());
  phases.delivered = options_.now();
  for (const StepPart& part : step.parts) {
    if (part.sequence != nullptr) in_step_.push_back(part.sequence->request);
  }
  // Further rounds draw from the rows of drafts.
  const double drawn = step.verify_rows > 0 ? phases.delivered : phases.sampled;
  scheduler_.commit(tokens, drawn - std::max(committed_, phases.planned));
  for (RunningRequest* const request : in_step_) {
    if (!request->ended()) {
      request->note_computed();
      if (request->is_done()) request->finish(request->done_reason());
    }
    some_ended_ = some_ended_ || request->ended();
  }
  in_step_.clear();
  committed_ = drawn;
  if (some_ended_) drop_ended();
  reporter_.freed();
  reporter_.step(step, phases, results_.drafts());
}

/// Returns whether `body` succeeded. If not, the engine has failed, and all requests have ended.
bool Engine::attempt(FunctionRef<void(bool is_retry)> body) {
  const bool succeeded = guard_.attempt(body, [this](const Error& error) { give_up(error); });
  if (!succeeded) clear();
  return succeeded;
}

void Engine::drop_ended() {
  some_ended_ = false;
  for (auto next = requests_.begin(); next != requests_.end();) {
    RunningRequest& request = *next->second;
    if (!request.ended() || INGOT_MUTANT(12)) {
      ++next;
      continue;
    }
    reporter_.ended(request);
    speculation_->end(request);
    inbox_.release();
    end(next->second);
    next = requests_.erase(next);
  }
  inbox_.publish_running();
  reporter_.freed();
  if (!is_idle_ && requests_.empty()) check_idle();
}

/// Releases the request's blocks and tells its reader. A live sequence keeps them and rests.
void Engine::end(std::unique_ptr<RunningRequest>& request) {
  RunningRequest& ended = *request;
  try {
    if (ended.may_rest()) resting_.add(request);
  } catch (const std::bad_alloc&) {
    // The next request computes the rows again.
  }
  if (request != nullptr) scheduler_.remove(ended.sequence());
  ended.tell_end();
}

void Engine::end_requests(FinishReason reason, const Error* error) {
  for (auto& [id, request] : requests_) {
    if (!request->ended()) request->finish(reason, copy_of(error));
  }
}

void Engine::end_all(const Error& error) {
  end_requests(FinishReason::kError, &error);
  clear();
}

/// Drops all requests, which have ended. First waits until no step is under way, because a step may
/// write to blocks that are released here.
void Engine::clear() {
  if (scheduler_.under_way() > 0 && !INGOT_MUTANT(19)) {
    guard_.call([this] { steps_->drain(); });
  }
  guard_.end_step();
  scheduler_.abandon();
  drop_ended();
  resting_.clear();
  reporter_.state();
}

/// Ends all requests after the engine has failed. The watching thread may call this while a step is
/// under way, so it uses nothing that a step uses.
void Engine::give_up(const Error& error) {
  inbox_.refuse_all(Rejection::kFailed);
  inbox_.close(FinishReason::kError, &error);
  end_requests(FinishReason::kError, &error);
  // Tells the readers now, because the requests' blocks may never be released.
  for (auto& [id, request] : requests_) request->tell_end();
  was_forced_.store(true);
  drained_.ring();
  if (options_.failed) options_.failed(error);
}

void Engine::flush_prefixes() {
  scheduler_.flush_prefixes();
  speculation_->flush();
}

/// Ends the process if a block is neither free nor evictable although no request is left, and no
/// resting sequence holds it.
void Engine::check_idle() {
  is_idle_ = true;
  if (scheduler_.under_way() > 0) return;
  const KvCache& cache = steps_->cache();
  for (std::int32_t g = 0; g < cache.groups(); ++g) {
    const BlockPool& pool = cache.pool(g);
    const std::int64_t used = pool.references() - resting_.held(g);
    INGOT_CHECK(used == cache.releasing(g), used, " blocks of group ", g, " are lost");
  }
  check_invariants();
}

void Engine::check_invariants() const {
  const KvCache& cache = steps_->cache();
  for (std::int32_t g = 0; g < cache.groups(); ++g) cache.pool(g).check();
  if (scheduler_.prefixes() != nullptr) scheduler_.prefixes()->check();
}

}  // namespace ingot
