// Speculation: asks lookup and draft model for drafts, and keeps as many as pay.
#include "runtime/draft/speculation.h"

#include <algorithm>
#include <exception>

#include "base/index.h"

namespace ingot {

namespace {

/// After n errors in a row, the draft model is not asked in the next 2^n calls, for n up to this.
constexpr std::int32_t kFailuresCounted = 10;

}  // namespace

Speculation::Speculation(const SpeculationOptions& options, const Scheduler& scheduler,
                         StepRunner& runner)
    : options_(options),
      scheduler_(scheduler),
      count_(scheduler.times()),
      lookup_(scheduler.limits().sequences, runner) {
  if (scheduler.limits().draft_rows == 0) return;
  const auto sequences = to_size(scheduler.limits().sequences);
  tasks_.resize(sequences);
  for (DraftTask& task : tasks_) {
    task.drafts.reserve(to_size(kDraftsMax));
    task.lookup.reserve(to_size(kDraftsMax));
  }
  asking_.reserve(sequences);
  choices_.reserve(sequences * to_size(kDraftsMax));
  likelihoods_.reserve(sequences * to_size(kDraftsMax));
}

void Speculation::propose() noexcept {
  if (tasks_.empty()) return;
  try {
    find_tasks();
    if (used_ == 0) return;
    ask_lookup();
    ask_model();
    choose();
    give();
  } catch (const std::exception&) {
    // Results do not depend on drafts.
    for (const DraftTask& task : tasks()) {
      task.request->sequence().drafts.clear();
      task.request->sequence().awaits_drafts = false;
    }
  }
}

void Speculation::end(RunningRequest& request) noexcept {
  if (tasks_.empty()) return;
  try {
    lookup_.end(request);
    if (options_.model) options_.model->end(request);
  } catch (const std::exception&) {
    // What the request wrote gives no drafts to others.
  }
}

/// Whether the request uses drafts of a source: kLookup or kDraft.
bool Speculation::uses(const RunningRequest& request, SpeculationMode source) const {
  const bool exists = source == SpeculationMode::kLookup || options_.model != nullptr;
  const SpeculationMode mode = request.speculation().mode;
  if (mode != SpeculationMode::kAuto) return mode == source && exists;
  if (source == SpeculationMode::kLookup) return options_.lookup || request.has_prediction();
  return exists;
}

/// The limit on the drafts of a request.
std::int32_t Speculation::drafts_max(const RunningRequest& request) const {
  const std::int32_t own = request.speculation().tokens;
  const std::int32_t most = options_.tokens > 0 ? options_.tokens : kDraftsMax;
  return std::min({own > 0 ? own : most, most, kDraftsMax});
}

void Speculation::find_tasks() {
  used_ = 0;
  decodes_ = 0;
  for (Sequence* const s : scheduler_.running_sequences()) {
    if (s->verifying > 0) continue;  // a step under way still needs its drafts
    s->drafts.clear();
    s->awaits_drafts = false;
    const bool decodes = s->draws && !s->paused && s->missing() == 1;
    if (!decodes || s->request == nullptr) continue;
    ++decodes_;
    // Drafts are tokens, and a part has no tokens behind embeddings.
    if (s->given_at(s->next_row()) == nullptr) add_task(*s->request);
  }
}

void Speculation::add_task(RunningRequest& request) {
  const Sequence& s = request.sequence();
  const bool wants =
      uses(request, SpeculationMode::kLookup) || uses(request, SpeculationMode::kDraft);
  if (!wants || request.ended() || used_ == tasks_.size()) return;
  DraftTask& task = tasks_[used_];
  task.request = &request;
  task.drafts.clear();
  task.lookup.clear();
  const std::int64_t room = std::min(s.rows_max - s.length(), s.room - 1);
  task.most = static_cast<std::int32_t>(
      std::clamp<std::int64_t>(room, 0, std::int64_t{drafts_max(request)}));
  if (task.most > 0) ++used_;
}

void Speculation::ask_lookup() {
  asking_.clear();
  for (DraftTask& task : tasks()) {
    if (uses(*task.request, SpeculationMode::kLookup)) asking_.push_back(&task);
  }
  if (!asking_.empty()) lookup_.propose(asking_);
}

/// Asks the draft model for as many drafts as pay on average, because drafts take time too.
void Speculation::ask_model() {
  if (!options_.model) return;
  if (rest_ > 0) {
    --rest_;
    return;
  }
  asking_.clear();
  const double likelihood = options_.model->likelihood();
  for (DraftTask& task : tasks()) {
    const bool is_likely =
        !task.drafts.empty() && static_cast<double>(task.drafts.front().likelihood) >= likelihood;
    if (is_likely || !uses(*task.request, SpeculationMode::kDraft)) continue;
    asking_.push_back(&task);
  }
  if (asking_.empty()) return;
  const double seconds = options_.model->seconds(asking_.size());
  const std::int32_t pays = count_.choose_each(decodes_, likelihood, seconds, kDraftsMax);
  for (DraftTask* const task : asking_) {
    if (!is_fixed()) task->most = std::min(task->most, pays);
    // A step that still draws the last token must end first.
    if (task->most > 0 && task->request->sequence().pending > 0) {
      task->request->sequence().awaits_drafts = true;
    }
  }
  std::erase_if(asking_, [](const DraftTask* task) {
    return task->most == 0 || task->request->sequence().pending > 0;
  });
  if (asking_.empty()) return;
  for (DraftTask* const task : asking_) std::swap(task->drafts, task->lookup);
  propose_with_model();
  for (DraftTask* const task : asking_) {
    if (task->drafts.empty()) {
      std::swap(task->drafts, task->lookup);
    } else {
      task->request->set_drafts_prediction(false);
    }
  }
}

/// Asks the draft model. A model that fails costs time and gives nothing, so it rests, longer after
/// each error.
void Speculation::propose_with_model() {
  try {
    options_.model->propose(asking_);
    for (const DraftTask* const task : asking_) {
      if (!task->drafts.empty()) failures_ = 0;
    }
  } catch (const std::exception& error) {
    for (DraftTask* const task : asking_) task->drafts.clear();
    model_failed(error.what());
  }
}

void Speculation::model_failed(std::string_view error) {
  failures_ = std::min(failures_ + 1, kFailuresCounted);
  rest_ = 1 << failures_;
  options_.model->failed(error);
}

/// Keeps the drafts that the step will verify.
void Speculation::choose() {
  if (is_fixed()) return;
  choices_.clear();
  for (std::size_t i = 0; i < used_; ++i) add_choices(i);
  take_likeliest();
}

void Speculation::add_choices(std::size_t task) {
  float all = 1;
  const std::vector<Draft>& drafts = tasks_[task].drafts;
  const std::size_t most = std::min(drafts.size(), to_size(tasks_[task].most));
  for (std::size_t i = 0; i < most; ++i) {
    all *= drafts[i].likelihood;
    choices_.push_back({.likelihood = all, .task = task});
  }
  tasks_[task].most = 0;
}

/// Raises the limits of the tasks with the likeliest drafts. A task's drafts stay in their order,
/// because each is at most as likely as the one before it.
void Speculation::take_likeliest() {
  std::sort(choices_.begin(), choices_.end(), [](const Choice& a, const Choice& b) {
    return a.likelihood != b.likelihood ? a.likelihood > b.likelihood : a.task < b.task;
  });
  const std::size_t most = std::min(choices_.size(), to_size(scheduler_.limits().draft_rows));
  likelihoods_.clear();
  for (std::size_t i = 0; i < most; ++i) likelihoods_.push_back(choices_[i].likelihood);
  const std::int32_t count = count_.choose(decodes_, likelihoods_);
  for (std::int32_t i = 0; i < count; ++i) ++tasks_[at(choices_, i).task].most;
}

void Speculation::give() {
  for (DraftTask& task : tasks()) {
    Sequence& s = task.request->sequence();
    const std::size_t count = std::min(task.drafts.size(), to_size(task.most));
    if (count > 0 && s.pending > 0) {
      s.awaits_drafts = true;
      continue;
    }
    for (std::size_t i = 0; i < count; ++i) s.drafts.push_back(task.drafts[i].id);
  }
}

}  // namespace ingot
