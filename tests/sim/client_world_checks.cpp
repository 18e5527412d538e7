// ClientWorld: the checks after a tick and at the end.
#include <algorithm>

#include "sim/client_world.h"
#include "sim/violation.h"

namespace ingot::sim {

namespace {

/// Ticks within which some request advances, if any can.
constexpr std::int64_t kIdleTicksMax = 8;
/// Ticks between a cancellation and its effect.
constexpr std::int64_t kCancelTicksMax = 2;
/// Ticks within which all remaining requests end by themselves: pools and requests are small.
constexpr std::int64_t kEndTicksMax = 50000;

}  // namespace

void ClientWorld::look() {
  in_engine_ = 0;
  admitted_.clear();
  checker_.begin();
  engine_->visit([this](const RunningRequest& c) { check_request(c); });
  for (const Sequence* s : engine_->scheduler().resting_sequences()) checker_.add(*s);
  checker_.end(engine_->scheduler().prefixes());
  look_for_ended();
  check_order();
  check_progress();
  const Scheduler& scheduler = engine_->scheduler();
  resting_.clear();
  for (const Sequence* s : scheduler.resting_sequences()) resting_.push_back(s->id);
  SIM_EXPECT("I9", scheduler.running() <= settings_.limits.sequences, scheduler.running(),
             " sequences run");
  SIM_EXPECT("I14", !advanced_ || static_cast<std::int64_t>(engine_->under_way()) == in_engine_,
             engine_->under_way(), " are counted, ", in_engine_, " are there");
  SIM_EXPECT("I14", !around_.forced || in_engine_ == 0, in_engine_, " left behind the drain");
  SIM_EXPECT("I8", failures_ == (around_.failed ? 1 : 0), failures_, " failures");
}

void ClientWorld::check_request(const RunningRequest& request) {
  const Sequence& s = request.sequence();
  checker_.add(s);
  ++in_engine_;
  Client& c = *by_id_.at(s.id);
  SIM_EXPECT("I8", c.state != State::kEnded && !request.ended(), "request ", s.id,
             " goes on behind its end");
  SIM_EXPECT("I12", c.cancelled_at < 0 || tick_ - c.cancelled_at < kCancelTicksMax, "request ",
             s.id, " was cancelled in tick ", c.cancelled_at);
  SIM_EXPECT("I10", s.preemptions <= settings_.engine.preemptions_max, "request ", s.id,
             " gave way ", s.preemptions, " times");
  check_deadlines(request);
  if (c.seen_first < 0) c.seen_first = tick_;
  c.seen_at = tick_;
  check_change(c, s);
}

void ClientWorld::check_change(Client& c, const Sequence& s) {
  const State before = c.state;
  const bool ran = before == State::kPrompt || before == State::kTokens || before == State::kPaused;
  if (s.admissions != c.admissions) {
    if (c.admissions == 0) admitted_.push_back(&c);
    tally_.coverage.visit(before, Event::kAdmit);
    if (c.job.hit) tally_.coverage.visit(before, Event::kHit);
    trace_.add("request #: gets its turn number #", static_cast<std::int64_t>(s.id), s.admissions);
  }
  if (ran && (!s.admitted || s.admissions != c.admissions)) {
    tally_.coverage.visit(before, Event::kPreempt);
    trace_.add("request #: gave way", static_cast<std::int64_t>(s.id));
  }
  c.admissions = s.admissions;
  c.state = state_of(c, s);
}

State ClientWorld::state_of(const Client& c, const Sequence& s) {
  if (s.admitted) {
    if (s.paused) return State::kPaused;
    return s.length() > c.job.prompt_rows ? State::kTokens : State::kPrompt;
  }
  if (s.admissions > 0) return s.paused ? State::kReturnedPaused : State::kReturned;
  return s.fork_of != nullptr ? State::kForking : State::kWaiting;
}

/// Checks that a request that the engine has seen, and no longer has, has ended.
void ClientWorld::look_for_ended() {
  if (!advanced_) return;
  for (Client* c : alive_) {
    if (c->seen_at == tick_ || c->state == State::kEnded) continue;
    c->ended_from = c->state;
    c->state = State::kEnded;
    c->ended_at = looked_;
    idle_ticks_ = 0;
  }
}

/// Whether a request of a live sequence may have run at once, with the blocks of the one before.
bool ClientWorld::continues_resting(const Client& c) const {
  return c.is_live && c.seen_first == tick_ && c.job.before != nullptr &&
         std::find(resting_.begin(), resting_.end(), c.job.before->id) != resting_.end();
}

/// Checks that equal requests are admitted in the order of arrival.
void ClientWorld::check_order() const {
  for (const Client* late : admitted_) {
    if (late->is_fork || continues_resting(*late)) continue;
    for (const Client* c : alive_) {
      const bool waits = c->state == State::kWaiting && !c->is_fork && c->seen_at == tick_;
      SIM_EXPECT("I11",
                 !waits || c->job.id > late->job.id || c->tenant != late->tenant ||
                     c->priority != late->priority,
                 "request ", late->job.id, " overtakes request ", c->job.id);
    }
  }
}

/// Checks that no request stays whose deadline was over at the engine's last tick.
void ClientWorld::check_deadlines(const RunningRequest& request) const {
  if (!advanced_) return;
  const Sequence& s = request.sequence();
  const double earliest = std::min({s.terms.begin_by, s.terms.first_token_by, s.terms.end_by});
  SIM_EXPECT("I12", earliest >= looked_, "request ", s.id, " stays behind its deadline");
  SIM_EXPECT("I12", looked_ - request.paused_since() < settings_.engine.stall_seconds, "request ",
             s.id, " stays although its reader stalled");
}

void ClientWorld::check_progress() {
  if (model_->rows_run() != rows_run_) idle_ticks_ = 0;
  rows_run_ = model_->rows_run();
  const bool may_go_on = std::any_of(alive_.begin(), alive_.end(), [](const Client* c) {
    return c->state != State::kEnded && c->pace == Pace::kAll;
  });
  idle_ticks_ = may_go_on ? idle_ticks_ + 1 : 0;
  SIM_EXPECT("I10", idle_ticks_ <= kIdleTicksMax, "nothing was computed for ", idle_ticks_,
             " ticks", asleep_ ? ", the engine sleeps" : "");
}

void ClientWorld::run(std::int64_t ticks) {
  while (tick_ < ticks && !is_over()) tick();
  wind_down();
  settle();
  tally_.totals.ticks += tick_;
  tally_.totals.rows += model_->rows_run();
  tally_.totals.copies += model_->copies();
  tally_.totals.drafts += model_->drafts();
}

void ClientWorld::wind_down() {
  const std::int64_t last = tick_ + kEndTicksMax;
  is_calm_ = true;
  model_->stop_faults();
  if (settings_.ending == Ending::kDrain && !draining_) begin_drain(random_.unit());
  if (settings_.ending == Ending::kStop) {
    trace_.add("the engine stops");
    meet(Event::kStop);
    engine_->stop();
    around_.forced = draining_ = true;
  }
  for (Client* c : alive_) {
    if (settings_.ending != Ending::kCancel || !c->stream || c->cancelled_at >= 0) continue;
    c->stream->cancel();
    c->cancelled_at = tick_ + 1;
  }
  while (!alive_.empty()) {
    SIM_EXPECT("I10", tick_ < last, alive_.size(), " requests do not end");
    tick();
  }
}

/// At the end: no steps are under way, no blocks are held, and all cached blocks can be evicted.
void ClientWorld::settle() {
  lives_.clear();
  arrivals_.unload_adapters();
  for (int i = 0; i < 4; ++i) engine_->advance();
  SIM_EXPECT("I14", engine_->under_way() == 0 && engine_->scheduler().under_way() == 0,
             engine_->under_way(), " requests and ", engine_->scheduler().under_way(),
             " steps are left");
  SIM_EXPECT("I14", engine_->scheduler().waiting() == 0 && engine_->scheduler().running() == 0,
             "a sequence is left");
  SIM_EXPECT("I14", engine_->scheduler().resting_sequences().empty(), "a sequence rests");
  SIM_EXPECT("I25", arrivals_.loads_in_use() == 0, arrivals_.loads_in_use(),
             " loads of adapters are still in use");
  checker_.begin();
  checker_.end(engine_->scheduler().prefixes());
  engine_->flush_prefixes();
  checker_.check_idle(engine_->scheduler().prefixes());
}

}  // namespace ingot::sim
