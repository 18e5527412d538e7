// ModelDrafter: follows the target's sequences, and draws tokens behind them.
#include "runtime/draft/model_drafter.h"

#include <algorithm>
#include <utility>

#include "base/index.h"
#include "runtime/schedule/clock.h"

namespace ingot {

namespace {

/// Acceptance that is assumed before the first draft, and weight of each draft in the mean.
constexpr double kLikelihoodFirst = 0.7;
constexpr double kLikelihoodWeight = 1.0 / 128;
/// Limit on the prompt rows of a call, during which all requests wait.
constexpr std::int64_t kPromptRows = 64;
/// Number of last calls whose sequences keep their rows, so that they do not take turns in losing
/// them.
constexpr std::int64_t kKeptCalls = 16;

}  // namespace

ModelDrafter::ModelDrafter(Executor& executor, ThreadPool& pool, const HostKernels& kernels,
                           std::int64_t ids, DraftErrorReport report)
    : executor_(executor),
      pool_(pool),
      report_(std::move(report)),
      sampler_(pool, kernels, executor.model().spec.vocab,
               std::min(ids, executor.model().spec.vocab), executor.limits().sequences),
      likelihood_(kLikelihoodFirst) {
  const auto sequences = to_size(executor.limits().sequences);
  active_.reserve(sequences);
  parts_.reserve(sequences);
  rows_.reserve(sequences);
  drawn_.resize(sequences);
}

/// The temporary sequence releases its blocks.
void ModelDrafter::warm_up() {
  Sequence sequence(executor_.cache());
  sequence.tokens.assign(2, 0);
  StepPart part{.sequence = &sequence, .rows = 2, .outputs = 1};
  static_cast<void>(run_next(executor_, {&part, 1}));
}

void ModelDrafter::propose(std::span<DraftTask* const> tasks) {
  ++calls_;
  active_.clear();
  for (DraftTask* const task : tasks) {
    const Sequence& target = task->request->sequence();
    const bool has_room = target.length() + task->most < executor_.limits().context;
    if (!target.given.empty() || !has_room || active_.size() == drawn_.size()) continue;
    Track& track = track_of(*task->request);
    follow(track, target);
    if (track.is_given_up) continue;
    active_.push_back({.task = task, .track = &track});
  }
  compute_prompts();
  for (std::int32_t i = 0; !active_.empty(); ++i) draft(i);
}

void ModelDrafter::failed(std::string_view error) {
  if (const DraftErrorReport report = std::exchange(report_, {})) report(error);
}

double ModelDrafter::seconds(std::size_t tasks) const {
  const auto rows = static_cast<std::int32_t>(tasks);
  return times_.is_empty() ? 0 : times_.decode_seconds_least(rows);
}

ModelDrafter::Track& ModelDrafter::track_of(RunningRequest& request) {
  const std::uint64_t id = request.sequence().id;
  const auto found = tracks_.find(id);
  if (found != tracks_.end()) return found->second;
  SamplingParams params = request.sampling();
  params.logprobs = -1;
  return tracks_.try_emplace(id, executor_.cache(), std::move(params)).first->second;
}

/// Replaces drafts that became no tokens by the tokens that did. Learns how many were accepted.
void ModelDrafter::follow(Track& track, const Sequence& target) {
  Sequence& own = track.sequence;
  const std::int64_t drafted = own.length() - track.known;
  const std::int64_t drawn = target.length() - track.known;
  std::int64_t accepted = 0;
  while (accepted < std::min(drafted, drawn) &&
         own.token(track.known + accepted) == target.token(track.known + accepted)) {
    ++accepted;
  }
  // The draft behind the accepted ones was rejected, if a token was drawn in its place.
  for (std::int64_t i = 0; i < std::min({drafted, drawn, accepted + 1}); ++i) {
    likelihood_ += kLikelihoodWeight * ((i < accepted ? 1.0 : 0.0) - likelihood_);
  }
  const std::int64_t equal = track.known + accepted;
  const std::int64_t known = track.known;
  const std::int64_t vocab = executor_.model().spec.vocab;
  track.is_given_up |= std::any_of(target.tokens.begin() + equal, target.tokens.end(),
                                   [&](std::int32_t id) { return id >= vocab; });
  own.tokens.resize(to_size(equal));
  own.tokens.insert(own.tokens.end(), target.tokens.begin() + equal, target.tokens.end());
  track.known = own.length();
  track.used = calls_;
  own.computed = std::min({own.computed, equal, own.length() - 1});
  own.blocks.truncate(own.computed);
  own.blocks.forget_before(std::min(own.computed, known));  // no later call drops these rows
}

bool ModelDrafter::fits_alone(std::int64_t rows) const {
  const KvCache& cache = executor_.cache();
  for (std::int32_t g = 0; g < cache.groups(); ++g) {
    if (cache.group(g).blocks_for(rows, executor_.limits().rows) > cache.pool(g).total())
      return false;
  }
  return true;
}

/// Reserves blocks for rows [0, rows) of a track. Takes them from tracks outside of this call.
bool ModelDrafter::reserve(Track& track, std::int64_t rows) {
  if (!fits_alone(rows)) return false;
  while (!track.sequence.blocks.reserve(rows)) {
    if (!release_oldest()) return false;
  }
  return true;
}

bool ModelDrafter::release_oldest() {
  Track* oldest = nullptr;
  for (auto& [id, track] : tracks_) {
    const bool holds = track.used < calls_ - kKeptCalls && track.sequence.computed > 0;
    if (holds && (oldest == nullptr || track.used < oldest->used)) oldest = &track;
  }
  if (oldest == nullptr) return false;
  oldest->sequence.computed = 0;
  oldest->sequence.blocks.truncate(0);
  return true;
}

/// Computes a piece of the prompts that miss more than a few rows. Their tasks get no drafts in
/// this call.
void ModelDrafter::compute_prompts() {
  parts_.clear();
  std::int64_t left = std::min<std::int64_t>(kPromptRows, executor_.limits().rows);
  std::erase_if(active_, [&](const Active& active) {
    Sequence& s = active.track->sequence;
    const std::int64_t missing = s.length() - s.computed;
    if (missing <= kDraftsMax + 1) return false;
    const std::int64_t rows = std::min(missing - 1, left);
    if (rows > 0 && reserve(*active.track, s.computed + rows)) {
      parts_.push_back({.sequence = &s, .rows = static_cast<std::int32_t>(rows)});
      left -= rows;
    }
    return true;
  });
  if (!parts_.empty()) static_cast<void>(run_next(executor_, parts_));
}

/// Draws draft number `index` of all active tasks. Tasks whose rows do not fit the step get no more
/// drafts in this call.
void ModelDrafter::draft(std::int32_t index) {
  parts_.clear();
  std::int64_t left = executor_.limits().rows;
  std::erase_if(active_, [&](const Active& active) {
    Sequence& s = active.track->sequence;
    const std::int64_t rows = s.length() - s.computed;
    if (active.is_over || index >= active.task->most || rows > left) return true;
    if (!reserve(*active.track, s.length())) return true;
    parts_.push_back({.sequence = &s, .rows = static_cast<std::int32_t>(rows), .outputs = 1});
    left -= rows;
    return false;
  });
  if (parts_.empty()) return;
  const double begun = steady_seconds();
  if (!run_next(executor_, parts_)) return active_.clear();
  rows_.clear();
  for (std::size_t i = 0; i < active_.size(); ++i) {
    const RunningRequest& request = *active_[i].task->request;
    rows_.push_back(request.row(executor_.logits(static_cast<std::int64_t>(i))));
    rows_.back().params = &active_[i].track->params;
    rows_.back().mask = {};
    rows_.back().forced = -1;
    rows_.back().index += static_cast<std::uint64_t>(index);
  }
  {
    const auto lease = pool_.acquire();
    sampler_.sample(rows_, std::span(drawn_).first(rows_.size()));
  }
  times_.add(static_cast<std::int32_t>(active_.size()), 0, steady_seconds() - begun);
  for (std::size_t i = 0; i < active_.size(); ++i) take(active_[i], drawn_[i]);
}

/// Adds a draft. An end token is none, because the target draws it from the row before.
void ModelDrafter::take(Active& active, const Drawn& drawn) {
  const auto& ends = active.track->params.end_ids;
  if (drawn.id < 0) {
    active.track->is_given_up = true;
    failed("it has computed logits that are no numbers");
  }
  active.is_over = drawn.id < 0 || std::find(ends.begin(), ends.end(), drawn.id) != ends.end();
  if (active.is_over) return;
  active.task->drafts.push_back({.id = drawn.id, .likelihood = static_cast<float>(likelihood_)});
  active.track->sequence.tokens.push_back(drawn.id);
}

}  // namespace ingot
