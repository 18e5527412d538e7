// LookupDrafter: looks a sequence's last tokens up in histories, and learns how well that works.
#include "runtime/draft/lookup_drafter.h"

#include <algorithm>

#include "base/index.h"

namespace ingot {

namespace {

/// Length that the begin of a prediction counts as, before the first token is drawn.
constexpr std::int64_t kBeginLength = 16;
/// The place in front of a history's first token.
constexpr std::int64_t kFirstPlace = 1;
/// Probability that a forced token is drawn: see forced_token.
constexpr float kForced = 0.88f;

/// Whether the text is too short to be looked up, and is the begin of the prediction.
bool begins_as_predicted(const RunningRequest& request) {
  const std::int64_t drawn = request.generated();
  const auto prediction = request.prediction();
  if (!request.has_prediction() || drawn >= std::min(kMatchMin, std::ssize(prediction)))
    return false;
  const std::span<const std::int32_t> tokens = request.sequence().tokens;
  return std::ranges::equal(tokens.last(to_size(drawn)), prediction.first(to_size(drawn)));
}

template <class T>
auto& of(T& rates, auto source) {
  return rates[static_cast<std::size_t>(source)];
}

}  // namespace

LookupDrafter::Track::Track(const RunningRequest& request)
    : own(std::min(request.sequence().rows_max + 1, kOwnTokensMax)) {
  if (!request.has_prediction()) return;
  prediction.emplace(std::min(std::ssize(request.prediction()) + 1, kOwnTokensMax));
  prediction->add(request.prediction());
  prediction->add_break();
}

LookupDrafter::Track& LookupDrafter::track_of(const RunningRequest& request) {
  const std::uint64_t id = request.sequence().id;
  auto found = tracks_.find(id);
  if (found == tracks_.end()) {
    if (std::ssize(tracks_) >= sequences_) forget_oldest();
    found = tracks_.emplace(id, std::make_unique<Track>(request)).first;
  }
  found->second->used = calls_;
  return *found->second;
}

void LookupDrafter::forget_oldest() {
  tracks_.erase(std::min_element(tracks_.begin(), tracks_.end(), [](const auto& a, const auto& b) {
    return a.second->used < b.second->used;
  }));
}

std::int64_t LookupDrafter::bytes_max(std::int32_t sequences, std::int64_t context) {
  const std::int64_t own = TokenHistory::bytes(std::min(context + 1, kOwnTokensMax));
  return DomainHistories::bytes_max() + sequences * own;
}

void LookupDrafter::propose(std::span<DraftTask* const> tasks) {
  ++calls_;
  add_forced(tasks);
  for (DraftTask* const task : tasks) {
    RunningRequest& request = *task->request;
    Track& track = track_of(request);
    learn(track, request.sequence());
    follow(track, request.sequence());
    guess(track, request);
    request.set_drafts_prediction(false);
    if (task->drafts.empty() && track.guess.matched > 0) add_guess(*task, track);
  }
}

void LookupDrafter::add_guess(DraftTask& task, const Track& track) const {
  const Guess& g = track.guess;
  const MatchRates& rates = of(track.rates, g.source);
  task.request->set_drafts_prediction(g.source == Source::kPrediction);
  for (std::int32_t i = 0; i < std::min(g.count, task.most); ++i) {
    const double rate = rates.rate(g.matched + i, of(rates_, g.source));
    task.drafts.push_back({.id = at(g.ids, i), .likelihood = static_cast<float>(rate)});
  }
}

void LookupDrafter::end(RunningRequest& request) {
  const Sequence& s = request.sequence();
  tracks_.erase(s.id);
  if (!request.shares_domain()) return;
  domains_.add_output(s.prefix, std::span(s.tokens).subspan(to_size(request.prompt_tokens())));
}

/// Compares the last guess with the tokens that were drawn since.
void LookupDrafter::learn(Track& track, const Sequence& sequence) {
  const Guess& g = track.guess;
  if (g.matched == 0) return;
  for (std::int32_t i = 0; i < g.count && g.at + i < sequence.length(); ++i) {
    const bool is_drawn = sequence.token(g.at + i) == at(g.ids, i);
    of(track.rates, g.source).add(g.matched + i, is_drawn);
    of(rates_, g.source).add(g.matched + i, is_drawn);
    if (!is_drawn) return;
  }
}

void LookupDrafter::follow(Track& track, const Sequence& sequence) {
  track.own.add(std::span(sequence.tokens).subspan(to_size(track.known)));
  track.known = sequence.length();
}

void LookupDrafter::guess(Track& track, const RunningRequest& request) {
  const Sequence& s = request.sequence();
  Guess& best = track.guess;
  best.matched = 0;
  best.count = 0;
  best.at = s.length();
  if (begins_as_predicted(request)) {
    best.source = Source::kPrediction;
    best.matched = kBeginLength;
    best.count = static_cast<std::int32_t>(
        track.prediction->continuation(kFirstPlace + request.generated(), best.ids));
    return;
  }
  if (track.prediction) look_in(*track.prediction, Source::kPrediction, s, best);
  look_in(track.own, Source::kOwn, s, best);
  if (!request.shares_domain()) return;
  if (const TokenHistory* const domain = domains_.find(s.prefix); domain != nullptr) {
    look_in(*domain, Source::kDomain, s, best);
  }
}

/// Replaces the guess if the history has a longer match.
void LookupDrafter::look_in(const TokenHistory& history, Source source, const Sequence& sequence,
                            Guess& best) const {
  const TokenHistory::Match match = history.find(sequence.tokens);
  if (match.length <= best.matched) return;
  best.source = source;
  best.matched = match.length;
  best.count = static_cast<std::int32_t>(history.continuation(match.place, best.ids));
  if (best.count == 0) best.matched = 0;
}

/// Adds the tokens that constraints force, each task in one thread of the pool. Many tasks share
/// the drafts of a step, so each gets few.
void LookupDrafter::add_forced(std::span<DraftTask* const> tasks) {
  constrained_.clear();
  for (DraftTask* const task : tasks) {
    if (task->request->may_force()) constrained_.push_back(task);
  }
  if (constrained_.empty()) return;
  const std::int64_t share =
      std::max<std::int64_t>(2, std::int64_t{kDraftsMax} / std::ssize(constrained_));
  runner_.for_each(std::ssize(constrained_), [&](std::int64_t i) {
    DraftTask& task = *at(constrained_, i);
    std::array<std::int32_t, to_size(kDraftsMax)> ids;
    const std::int64_t most = std::min(std::int64_t{task.most}, share);
    const std::int64_t count = task.request->forced_run(std::span(ids).first(to_size(most)));
    for (std::int64_t k = 0; k < count; ++k) {
      task.drafts.push_back({.id = at(ids, k), .likelihood = kForced});
    }
  });
}

}  // namespace ingot
