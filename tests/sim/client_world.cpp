// ClientWorld: the events of a tick.
#include "sim/client_world.h"

#include <algorithm>

#include "base/error.h"
#include "sim/violation.h"
#include "text/tokenizer/tokenizer_test_util.h"

namespace ingot::sim {

namespace {

/// The most live sequences at a time.
constexpr std::int64_t kLivesMax = 4;
/// The longest tick in seconds, without a jump of the clock.
constexpr double kTickSeconds = 0.02;

/// Whether an event can change anything for a request that has ended and is being read.
bool concerns_ended(Event event) {
  return event == Event::kArrival || event == Event::kJump || event == Event::kFlush;
}

/// A tokenizer whose tokens below kVocab are characters.
const Tokenizer& characters() {
  static const std::unique_ptr<Tokenizer> tokenizer = [] {
    std::vector<std::string> warnings;
    return make_tokenizer(testing::byte_level_data("gpt-2", {{"a", "b"}}), warnings);
  }();
  return *tokenizer;
}

}  // namespace

ClientWorld::ClientWorld(const Settings& settings, Backend& backend, Random& random, Trace& trace,
                         Tally& tally)
    : settings_(settings),
      random_(random),
      trace_(trace),
      tally_(tally),
      cache_(backend, fake_groups(settings), KvType::kF32,
             std::array{settings.blocks, settings.window_blocks}),
      arrivals_(settings, random),
      checker_(cache_),
      around_{.stall_seconds = settings.engine.stall_seconds,
              .prefix_cache = settings.engine.prefix_cache,
              .deltas_max = settings.engine.deltas_max,
              .preemptions_max = settings.engine.preemptions_max},
      kinds_(Random(random).next() ^ 7) {
  auto model =
      std::make_unique<FakeModel>(cache_, settings.limits, settings.model, random, trace, now_);
  model_ = model.get();
  EngineOptions options = settings.engine;
  options.now = [this] { return now_; };
  options.failed = [this](const Error&) { ++failures_; };
  if (settings.has_drafter) {
    options.speculation.model =
        std::make_shared<FakeDrafter>(settings, Random(Random(random).next() ^ 9), *model_);
  }
  ingot::EngineSetup parts{.steps = std::move(model),
                           .limits = {.vocab = kVocab,
                                      .ids = kVocab,
                                      .hidden = 1,
                                      .context = settings.limits.context,
                                      .prompt_logprobs = 0,
                                      .text = true,
                                      .hidden_all = true,
                                      .pooled = 1,
                                      .whole_rows = settings.pools_whole ? settings.limits.rows : 0,
                                      .draft_rows = settings.limits.draft_rows,
                                      .draft_model = settings.has_drafter},
                           .tokenizer = &characters(),
                           .end_ids = {kEndOfText}};
  engine_ = std::make_unique<Engine>(std::move(parts), options);
  evictions_.emplace(cache_, engine_->scheduler().prefixes());
  cache_.refuse_when([this] {
    const bool refused = !is_calm_ && random_.chance(settings_.refuse);
    around_.refusals += refused ? 1 : 0;
    return refused;
  });
}

void ClientWorld::tick() {
  trace_.set_tick(++tick_);
  now_ += random_.unit() * kTickSeconds;
  happen();
  model_->poison();
  advanced_ = !asleep_ || !settings_.sleeps || engine_->wakes();
  if (advanced_) {
    looked_ = now_;
    asleep_ = !engine_->advance();
    if (model_->transients() != transients_) meet(Event::kTransient);
    if (model_->late_failures() != late_failures_) meet(Event::kLateFailure);
    if (model_->losses() != around_.losses) meet(Event::kLost);
    transients_ = model_->transients();
    late_failures_ = model_->late_failures();
    around_.losses = model_->losses();
    around_.failed = engine_->has_failed();
    around_.forced = around_.forced || looked_ >= drain_by_;
  }
  look();
  read_all();
}

void ClientWorld::happen() {
  if (!is_calm_) arrive();
  // By index: a reader that goes away may be forgotten at once.
  for (std::size_t i = 0; i < alive_.size(); ++i) disturb(*alive_[i]);
  if (is_calm_) return;
  if (!lives_.empty() && kinds_.chance(0.01)) {
    trace_.add("a live sequence ends");
    lives_.erase(lives_.begin() + kinds_.below(std::ssize(lives_)));
  }
  if (random_.chance(settings_.jump)) {
    now_ += random_.unit() * 5;
    trace_.add("the clock jumps");
    meet(Event::kJump);
  }
  if (random_.chance(settings_.flush)) {
    engine_->flush_prefixes();
    trace_.add("prefixes are forgotten");
    meet(Event::kFlush);
  }
  if (tick_ == settings_.broken_at) {
    model_->break_down();
    trace_.add("the device is lost");
    meet(Event::kBroken);
  }
  if (tick_ == settings_.drain_at) begin_drain(random_.unit());
}

void ClientWorld::meet(Event event) {
  for (const Client* c : alive_) {
    if (c->state == State::kEnded && !concerns_ended(event)) continue;
    tally_.coverage.visit(c->state, event);
  }
}

void ClientWorld::begin_drain(double seconds) {
  trace_.add("drain within # ms", static_cast<std::int64_t>(seconds * 1000));
  meet(Event::kDrain);
  engine_->begin_drain(seconds);
  drain_by_ = now_ + seconds;
  draining_ = true;
}

void ClientWorld::arrive() {
  if (!random_.chance(settings_.arrival)) return;
  const std::int32_t count = random_.chance(settings_.burst) ? random_.between(2, 6) : 1;
  for (std::int32_t i = 0; i < count && std::ssize(alive_) < settings_.alive_max; ++i) submit();
}

/// The live sequence to which a request is to belong; null: none.
ClientWorld::Live* ClientWorld::draw_live(const Request& request) {
  if (!kinds_.chance(settings_.live) || (request.pooled && settings_.pools_whole)) return nullptr;
  if (std::ssize(lives_) < kLivesMax && kinds_.below(2) == 0) {
    lives_.push_back({.rows = LiveRows(engine_->open_live())});
    return &lives_.back();
  }
  if (lives_.empty()) return nullptr;
  Live& live = lives_[static_cast<std::size_t>(kinds_.below(std::ssize(lives_)))];
  const bool is_busy =
      live.last != nullptr && (live.last->state != State::kEnded || live.last->stream);
  return is_busy ? nullptr : &live;
}

/// Makes a request the next one of a live sequence. Sometimes drops rows first. Returns the number
/// of rows before the request's own.
std::int64_t ClientWorld::extend(Live& live, Request& r) {
  if (live.last != nullptr) {
    const Job& job = live.last->job;
    live.rows.add_tokens(std::span(job.rows).subspan(
        static_cast<std::size_t>(job.prompt_rows), static_cast<std::size_t>(live.last->delivered)));
    live.last = nullptr;
  }
  if (kinds_.below(4) == 0) live.rows.truncate(kinds_.below(live.rows.rows() + 1));
  if (live.rows.rows() > 0 && kinds_.below(8) != 0) {
    r.domain = live.prefix.domain;
    r.adapters = live.adapters;
    r.tenant = live.prefix.tenant;
  }
  live.prefix = {.domain = r.domain, .tenant = r.tenant};
  const std::int64_t before = live.rows.rows();
  live.rows.extend(r);
  if (first_adapted_row(r) < 0) r.adapters = nullptr;
  live.adapters = r.adapters;
  const std::int64_t room = std::int64_t{settings_.blocks} * kBlockTokens - std::ssize(r.prompt);
  if (r.max_tokens > 0) r.max_tokens = std::clamp<std::int64_t>(room, 1, r.max_tokens);
  return before;
}

/// Submits a request; no streams if it is refused, which must be for a reason.
std::vector<Stream> ClientWorld::try_submit(const Request& request, std::int32_t choices) {
  const bool is_possible = arrivals_.is_possible(request);
  const std::size_t room =
      settings_.engine.waiting_max + static_cast<std::size_t>(settings_.limits.sequences);
  const bool has_room = !draining_ && !engine_->has_failed() &&
                        engine_->under_way() + static_cast<std::size_t>(choices) <= room;
  std::vector<Stream> streams;
  Request copy = request;
  try {
    streams = engine_->submit_choices(std::move(copy), choices);
  } catch (const Error& error) {
    SIM_EXPECT("I10", !is_possible && error.code() == ErrorCode::kInvalid, error.message());
    trace_.add("a request is refused");
    return {};
  }
  SIM_EXPECT("I10", is_possible, "a request of ", request.prompt.size(), " tokens and ",
             request.max_tokens, " more does not fit and is taken");
  SIM_EXPECT("I16", streams.empty() == !has_room, streams.size(), " streams with ",
             engine_->under_way(), " under way of ", room);
  meet(Event::kArrival);
  return streams;
}

void ClientWorld::submit() {
  Request request = arrivals_.draw(clients_);
  std::int32_t choices = random_.chance(settings_.choices) ? random_.between(2, 4) : 1;
  Live* const live = draw_live(request);
  const std::int64_t before = live == nullptr ? 0 : extend(*live, request);
  if (live != nullptr || request.pooled) choices = 1;
  std::vector<Stream> streams = try_submit(request, choices);
  if (live != nullptr && streams.empty()) live->rows.truncate(before);
  for (std::size_t i = 0; i < streams.size(); ++i) {
    auto client = Client::make(request, static_cast<std::uint32_t>(i), settings_.limits.context);
    client->job.id = streams[i].id();
    client->stream = std::move(streams[i]);
    client->read_at = now_;
    trace_.add("request #: # rows, # tokens, then ends with #",
               static_cast<std::int64_t>(client->job.id), client->job.prompt_rows,
               client->job.length() - client->job.prompt_rows, static_cast<int>(client->finish));
    model_->know(client->job);
    by_id_.resize(client->job.id + 1);
    by_id_.back() = client.get();
    alive_.push_back(client.get());
    if (live != nullptr) {
      client->job.before = std::exchange(live->before, &client->job);
      live->last = client.get();
    }
    clients_.push_back(std::move(client));
    ++tally_.totals.requests;
  }
}

void ClientWorld::disturb(Client& c) {
  const auto id = static_cast<std::int64_t>(c.job.id);
  if (!is_calm_ && !c.is_dropped && random_.chance(settings_.stall * 0.2)) {
    c.pace = random_.below(3) == 0 ? Pace::kOne : Pace::kNone;
    trace_.add("request #: its reader stalls", id);
    tally_.coverage.visit(c.state, Event::kStall);
  } else if (c.pace != Pace::kAll && (is_calm_ || random_.chance(settings_.resume))) {
    c.pace = Pace::kAll;
    trace_.add("request #: its reader goes on", id);
    tally_.coverage.visit(c.state, Event::kResume);
  }
  if (is_calm_ || c.is_dropped || c.cancelled_at >= 0) return;
  if (random_.chance(settings_.cancel * 0.2)) {
    trace_.add("request #: is cancelled", id);
    tally_.coverage.visit(c.state, Event::kCancel);
    c.stream->cancel();
    c.cancelled_at = tick_;
  } else if (random_.chance(settings_.drop * 0.2)) {
    drop(c);
  }
}

void ClientWorld::drop(Client& c) {
  trace_.add("request #: its stream goes away", static_cast<std::int64_t>(c.job.id));
  tally_.coverage.visit(c.state, Event::kDrop);
  c.stream.reset();
  c.cancelled_at = tick_;
  c.is_dropped = true;
}

void ClientWorld::read_all() {
  for (Client* c : alive_) read(*c);
  std::erase_if(alive_, [](const Client* c) { return !c->stream && c->state == State::kEnded; });
}

/// Reads deltas. Checks that a queue holds at most `deltas_max`, and none behind the end.
void ClientWorld::read(Client& c) {
  if (!c.stream) return;
  std::size_t pieces = 0;
  const bool may_read = c.pace == Pace::kAll || (c.pace == Pace::kOne && random_.below(2) == 0);
  while (may_read && c.read()) {
    ++tally_.totals.tokens;
    trace_.add("request #: delivers # tokens, # characters", static_cast<std::int64_t>(c.job.id),
               c.delivered, std::ssize(c.text));
    SIM_EXPECT("I16", ++pieces <= settings_.engine.deltas_max, "request ", c.job.id, " has ",
               pieces, " pieces to read");
    if (c.pace == Pace::kOne) break;
  }
  if (pieces > 0) tally_.coverage.visit(c.state, Event::kRead);
  if (pieces > 0 && c.state != State::kEnded) c.read_at = now_;
  if (c.stream->finished()) end(c);
}

void ClientWorld::end(Client& c) {
  SIM_EXPECT("I8", c.state == State::kEnded, "request ", c.job.id, " has an end and goes on");
  c.check_outcome(around_, clients_);
  const Outcome& outcome = c.stream->outcome();
  tally_.coverage.visit(c.ended_from, c.end_event(around_));
  tally_.totals.preemptions += outcome.preemptions;
  tally_.totals.hits += outcome.cached_tokens;
  tally_.totals.accepted += outcome.accepted_drafts;
  trace_.add("request #: ends with # after # tokens, # cached", static_cast<std::int64_t>(c.job.id),
             static_cast<int>(outcome.finish), c.delivered, outcome.cached_tokens);
  SIM_EXPECT("I8", !c.stream->try_next(), "request ", c.job.id, " delivers behind its end");
  c.stream.reset();
}

}  // namespace ingot::sim
