// SchedulerWorld: plans, runs and commits steps, and takes tokens back in between.
#include "sim/scheduler_world.h"

#include <algorithm>

#include "base/index.h"
#include "sim/violation.h"

namespace ingot::sim {

namespace {

/// The most rows of a prompt that are shared, so that a step of a large machine takes little time.
constexpr std::int64_t kSharedMax = 4000;
/// The most truncations of one sequence, so that it ends.
constexpr std::int32_t kTruncationsMax = 6;
constexpr std::int64_t kEndTicksMax = 50000;

ModelSettings without_errors(ModelSettings settings) {
  settings.transient = settings.not_finite = settings.late = 0;
  return settings;
}

SchedulerLimits limits_of(const Settings& s) {
  return {.rows = s.limits.rows,
          .sequences = s.limits.sequences,
          .pipeline_depth = s.model.steps_ahead,
          .draft_rows = s.limits.draft_rows,
          .step_seconds = s.engine.step_seconds,
          .preemptions_max = s.engine.preemptions_max,
          .prefix_cache = s.engine.prefix_cache,
          .prefix = s.engine.prefix,
          .waiting = s.engine.waiting};
}

}  // namespace

SchedulerWorld::SchedulerWorld(const Settings& settings, Backend& backend, Random& random,
                               Trace& trace, Tally& tally)
    : settings_(settings),
      random_(random),
      kinds_(Random(random).next() ^ 7),
      drafts_(settings, Random(Random(random).next() ^ 9)),
      trace_(trace),
      tally_(tally),
      cache_(backend, fake_groups(settings), KvType::kF32,
             std::array{settings.blocks, settings.window_blocks}),
      model_(cache_, settings.limits, without_errors(settings.model), random, trace, now_),
      scheduler_(cache_, limits_of(settings)),
      evictions_(cache_, scheduler_.prefixes()),
      checker_(cache_),
      shares_(scheduler_) {
  for (std::int64_t i = settings.blocks * kBlockTokens; i > 0; --i) {
    stem_.push_back(random.below(settings.letters + 1));
  }
  if (settings.backlogged.empty()) return;
  fairness_.emplace(settings.backlogged,
                    std::int64_t{settings.limits.sequences} * settings.rows_max);
}

/// Adds sequences so that each tenant still has one that waits after any admissions of one step.
void SchedulerWorld::top_up() {
  std::vector<std::int32_t> waiting(settings_.backlogged.size());
  for (const auto& r : alive_) {
    if (!r->sequence.admitted) ++waiting[static_cast<std::size_t>(r->sequence.terms.tenant)];
  }
  for (std::size_t tenant = 0; tenant < waiting.size(); ++tenant) {
    for (; waiting[tenant] <= settings_.limits.sequences; ++waiting[tenant]) arrive(tenant);
  }
}

/// Adds a sequence. Its prompt has `rows` rows, or for 0 a random number, some of them shared.
void SchedulerWorld::arrive(std::optional<std::uint64_t> tenant, std::int64_t rows) {
  const std::int64_t pool =
      fairness_ ? settings_.rows_max + 1 : std::int64_t{settings_.blocks} * kBlockTokens;
  auto r = std::make_unique<Runner>(cache_);
  r->job.choice = static_cast<std::uint32_t>(random_.below(3));
  if (random_.chance(settings_.domains)) r->job.prefix.domain = {1, 1};
  if (random_.chance(settings_.adapters)) {
    r->job.prefix.adapter = 1;
    r->job.prefix.adapter_from = kinds_.below(3) == 0 ? kinds_.below(40) : 0;
  }
  const std::int64_t shared =
      rows == 0 && random_.chance(settings_.shared) ? random_.below(std::min(pool, kSharedMax)) : 0;
  const std::int64_t own = rows > 0 ? rows : random_.between(1, random_.below(2) ? 8 : 60);
  const std::int64_t length = std::min<std::int64_t>(pool - 1, shared + own);
  for (std::int64_t i = 0; i < length; ++i) {
    r->job.append(i < shared ? stem_[static_cast<std::size_t>(i)] : random_.below(kVocab));
  }
  r->end = std::min<std::int64_t>(pool, length + random_.between(1, settings_.tokens_max));
  r->job.prefix.tenant = tenant.value_or(static_cast<std::uint64_t>(random_.below(2)));
  if (kinds_.chance(settings_.pooled)) draw_pooled(*r);
  add(std::move(r), nullptr);
}

/// Lets a sequence end with a pooled result, in place of drawing tokens.
void SchedulerWorld::draw_pooled(Runner& r) {
  Sequence& s = r.sequence;
  if (settings_.pools_whole) {
    r.job.truncate(std::min<std::int64_t>(r.job.length(), settings_.limits.rows));
    s.whole = true;
    s.reads_cache = false;
  }
  r.is_pooled = s.pools = true;
  s.draws = false;
  r.end = r.job.length() + 1;
}

/// Gives a sequence to the scheduler. `before`: the one that rests, in whose place it comes; may be
/// null.
void SchedulerWorld::add(std::unique_ptr<Runner> r, Runner* before) {
  r->job.id = ++last_id_;
  r->job.prompt_rows = r->job.length();
  Sequence& s = r->sequence;
  s.id = last_id_;
  s.tokens = r->job.rows;
  s.rows_max = r->end - 1;
  s.prefix = r->job.prefix;
  if (s.prefix.adapter != 0) {
    s.adapters = std::make_shared<AdapterList>(AdapterList{.number = s.prefix.adapter});
  }
  s.terms = {.tenant = s.prefix.tenant, .arrival = now_};
  r->job.needs_host = Random(Random(random_).next() ^ 4).chance(settings_.host);
  s.draws_ahead = model_.draws() && !r->job.needs_host;
  model_.know(r->job);
  trace_.add("sequence #: # rows of #", static_cast<std::int64_t>(s.id), s.length(), r->end);
  if (before == nullptr) {
    scheduler_.add(s);
  } else {
    scheduler_.add_after(s, before->sequence);
  }
  alive_.push_back(std::move(r));
  ++tally_.totals.requests;
}

/// Lets a sequence that has ended rest.
void SchedulerWorld::rest(std::unique_ptr<Runner> r) {
  trace_.add("sequence #: rests", static_cast<std::int64_t>(r->job.id));
  scheduler_.rest(r->sequence);
  resting_.push_back(std::move(r));
}

/// Continues some of the sequences that rest, and drops others.
void SchedulerWorld::visit_resting() {
  for (auto& r : resting_) {
    if (!kinds_.chance(0.1)) continue;
    if (kinds_.below(4) == 0 || std::ssize(alive_) >= settings_.alive_max) {
      trace_.add("sequence #: is dropped", static_cast<std::int64_t>(r->job.id));
      scheduler_.remove(r->sequence);
    } else {
      continue_rows(*r);
    }
    gone_.push_back(std::move(r));
  }
  std::erase(resting_, nullptr);
}

/// Adds a sequence that begins with rows of one that rests, mostly with all of them.
void SchedulerWorld::continue_rows(Runner& before) {
  const std::int64_t pool = std::int64_t{settings_.blocks} * kBlockTokens;
  auto r = std::make_unique<Runner>(cache_);
  r->job.choice = static_cast<std::uint32_t>(kinds_.below(3));
  r->job.prefix = before.job.prefix;
  r->job.before = &before.job;
  const std::int64_t kept =
      kinds_.below(4) == 0 ? kinds_.below(before.job.length()) : before.job.length();
  const std::int64_t length = std::min(pool - 1, kept + kinds_.between(kept == 0 ? 1 : 0, 20));
  for (std::int64_t i = 0; i < length; ++i) {
    r->job.append(i < kept ? before.job.row(i) : kinds_.below(kVocab));
  }
  r->end = std::min<std::int64_t>(pool, length + kinds_.between(1, settings_.tokens_max));
  add(std::move(r), &before);
}

void SchedulerWorld::drop_resting() {
  for (auto& r : resting_) {
    scheduler_.remove(r->sequence);
    gone_.push_back(std::move(r));
  }
  resting_.clear();
}

void SchedulerWorld::disturb(Runner& r) {
  Sequence& s = r.sequence;
  const bool was_paused = s.paused;
  if (random_.chance(settings_.stall * 0.2)) s.paused = true;
  if (s.paused && random_.chance(settings_.resume)) s.paused = false;
  if (s.paused != was_paused) {
    trace_.add("sequence #: paused is #", static_cast<std::int64_t>(s.id), s.paused ? 1 : 0);
  }
  // A tenant without waiting sequences would return with the others' count of rows.
  const bool may_go = !fairness_ || s.admitted;
  if (may_go && random_.chance(settings_.cancel * 0.2)) r.end = 0;
  if (r.is_pooled) return;
  if (s.in_flight > 0 || s.pending > 0 || r.truncations == kTruncationsMax) return;
  if (random_.chance(settings_.truncate)) truncate(r);
}

/// Truncates a sequence, perhaps into its prompt, as when a chat continues from an earlier turn.
void SchedulerWorld::truncate(Runner& r) {
  Sequence& s = r.sequence;
  const std::int64_t rows = std::max<std::int64_t>(
      1, s.length() - (random_.below(3) == 0 ? random_.below(s.length()) : random_.below(6)));
  if (!Scheduler::can_truncate(s, rows)) return;
  ++r.truncations;
  tally_.coverage.visit(s.length() > r.job.prompt_rows ? State::kTokens : State::kPrompt,
                        Event::kTruncate);
  trace_.add("sequence #: cut from # to # rows", static_cast<std::int64_t>(s.id), s.length(), rows);
  scheduler_.truncate(s, rows);
  r.job.truncate(rows);
  r.job.prompt_rows = std::min(r.job.prompt_rows, rows);
  r.job.choice += 7;
}

/// Gives drafts to sequences whose last token is known: even more than there is room for, and to
/// sequences that have no use for them. Also changes the room of some readers.
void SchedulerWorld::give_drafts() {
  if (settings_.limits.draft_rows == 0) return;
  Random& random = drafts_.random();
  for (auto& r : alive_) {
    Sequence& s = r->sequence;
    s.awaits_drafts = random.below(8) == 0;
    if (s.pending > 0) continue;
    s.room = random.below(4) == 0 ? random.between(1, 6) : 1000;
    drafts_.draw(r->job, s.length(), kDraftsMax, s.drafts);
  }
}

void SchedulerWorld::tick() {
  trace_.set_tick(++tick_);
  now_ += random_.unit() * 0.02;
  if (!is_calm_) {
    const bool has_room = !fairness_ && std::ssize(alive_) < settings_.alive_max;
    if (has_room && random_.chance(settings_.arrival)) arrive();
    if (random_.chance(settings_.crowd)) {
      for (std::int64_t n = 250; std::ssize(alive_) < settings_.alive_max; --n) arrive({}, n);
    }
    for (auto& r : alive_) disturb(*r);
    visit_resting();
    if (random_.chance(settings_.flush)) scheduler_.flush_prefixes();
  }
  remove_ended();
  if (fairness_ && !is_calm_) top_up();
  model_.poison();
  turn();
  remove_ended();
  look();
}

void SchedulerWorld::turn() {
  const std::int32_t depth = settings_.model.steps_ahead;
  bool planned = false;
  if (scheduler_.under_way() < depth) {
    give_drafts();
    shares_.begin_plan();
    const Step& step = scheduler_.plan();
    shares_.end_plan(step);
    check_idle();
    planned = !step.parts.empty();
    if (planned) model_.run(step, draws(step));
  }
  if (scheduler_.under_way() == depth || (!planned && scheduler_.under_way() > 0)) {
    commit(scheduler_.step_under_way(0));
  }
}

/// Checks that a plan knows which sequences are idle.
void SchedulerWorld::check_idle() const {
  for (const Sequence* s : scheduler_.running_sequences()) {
    SIM_EXPECT("I24", s->blocks.is_idle() == s->paused, "sequence ", s->id,
               " is paused: ", s->paused ? 1 : 0);
  }
  for (const Sequence* s : scheduler_.resting_sequences()) {
    SIM_EXPECT("I24", s->blocks.is_idle(), "sequence ", s->id, " rests");
  }
}

/// How the model draws from each row of logits.
std::span<const SampleRow> SchedulerWorld::draws(const Step& step) {
  draws_.clear();
  if (!model_.draws()) return draws_;
  for (const StepPart& part : step.parts) {
    const Sequence& s = *part.sequence;
    for (std::int32_t i = 0; i < part.outputs; ++i) {
      SampleRow& row = draws_.emplace_back();
      if (!s.draws_ahead) continue;
      row.params = &params_;
      row.index = static_cast<std::uint64_t>(model_.find(s.id)->drawn + s.pending - 1 + i);
    }
  }
  return draws_;
}

void SchedulerWorld::commit(const Step& step) {
  const double begun = now_;
  model_.wait(step);
  drawn_.clear();
  for (const StepPart& part : step.parts) {
    if (fairness_ && part.sequence != nullptr) {
      fairness_->serve(part.sequence->terms.tenant, part.rows);
    }
    if (part.outputs > 0) draw(part);
  }
  scheduler_.commit(drawn_, now_ - begun);
}

/// Takes a part's tokens, as long as they equal its drafts. Some sequences end on the way.
void SchedulerWorld::draw(const StepPart& part) {
  const std::size_t first = drawn_.size();
  drawn_.resize(first + static_cast<std::size_t>(part.outputs), -1);
  if (part.sequence == nullptr) return;
  Job& job = *model_.find(part.sequence->id);
  // Tokens drawn before a truncation must be dropped.
  SIM_EXPECT("I13", job.length() == part.first + part.rows - part.drafts, "sequence ", job.id,
             " has ", job.length(), " rows and draws from row ",
             part.first + part.rows - part.drafts - 1);
  for (std::int32_t i = 0; i < part.outputs; ++i) {
    const std::size_t output = first + static_cast<std::size_t>(i);
    const std::int32_t id = model_.token(static_cast<std::int64_t>(output));
    ++job.drawn;
    if (part.drafts > 0 && drafts_.random().chance(settings_.cancel * 0.2)) return end(job);
    drawn_[output] = id;
    job.append(id);
    ++tally_.totals.tokens;
    if (i == part.drafts || id != at(part.sequence->drafts, i)) return;
    ++tally_.totals.accepted;
  }
}

/// Lets a sequence end with its next token.
void SchedulerWorld::end(const Job& job) {
  for (auto& r : alive_) {
    if (&r->job == &job) r->end = 0;
  }
}

void SchedulerWorld::remove_ended() {
  for (auto& r : alive_) {
    if (!r->is_over()) continue;
    trace_.add("sequence #: ends with # rows", static_cast<std::int64_t>(r->job.id),
               r->sequence.length());
    if (!is_calm_ && !r->is_pooled && kinds_.chance(settings_.live)) {
      rest(std::move(r));
      continue;
    }
    scheduler_.remove(r->sequence);
    gone_.push_back(std::move(r));
  }
  std::erase(alive_, nullptr);
}

void SchedulerWorld::look() {
  checker_.begin();
  for (const auto& r : alive_) {
    checker_.add(r->sequence);
    SIM_EXPECT("I13", r->sequence.tokens == r->job.rows, "sequence ", r->job.id,
               " has other tokens");
  }
  for (const auto& r : resting_) checker_.add(r->sequence);
  checker_.end(scheduler_.prefixes());
  if (fairness_ && !is_calm_) fairness_->check();
}

void SchedulerWorld::run(std::int64_t ticks) {
  while (tick_ < ticks) tick();
  is_calm_ = true;
  drop_resting();
  for (auto& r : alive_) r->sequence.paused = false;
  while (!alive_.empty() || scheduler_.under_way() > 0) {
    SIM_EXPECT("I10", tick_ < ticks + kEndTicksMax, alive_.size(), " sequences do not end");
    tick();
  }
  scheduler_.plan();
  scheduler_.flush_prefixes();
  checker_.check_idle(scheduler_.prefixes());
  tally_.totals.ticks += tick_;
  tally_.totals.rows += model_.rows_run();
  tally_.totals.copies += model_.copies();
  tally_.totals.drafts += model_.drafts();
  tally_.totals.preemptions += scheduler_.preemptions();
}

}  // namespace ingot::sim
