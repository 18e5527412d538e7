// DraftMaker: follows a job's rows beyond the drawn ones, and replaces tokens from a place on.
#include "sim/draft_maker.h"

#include <algorithm>
#include <new>

#include "base/index.h"
#include "sim/violation.h"

namespace ingot::sim {

void DraftMaker::draw(const Job& job, std::int64_t length, std::int64_t most,
                      std::vector<std::int32_t>& drafts) {
  drafts.clear();
  if (most <= 0 || !random_.chance(settings_.drafts)) return;
  const std::int64_t count = random_.below(2) == 0 ? most : random_.between(1, most);
  const std::int64_t right = random_.chance(settings_.right) ? count : random_.below(count + 1);
  std::uint64_t key = job.key(length - 1);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t row = length + i;
    const std::int32_t next = job.draw(row - 1, key);
    const std::int32_t other = (next + random_.between(1, kVocab - 1)) % kVocab;
    drafts.push_back(i == right ? other : i < right ? next : random_.below(kVocab));
    key = job.next_key(row, drafts.back(), key);
  }
}

void FakeDrafter::propose(std::span<DraftTask* const> tasks) {
  std::vector<std::int32_t> drafts;
  for (DraftTask* const task : tasks) {
    const RunningRequest& request = *task->request;
    const Sequence& s = request.sequence();
    SIM_EXPECT("I26", !request.ended() && s.pending == 0 && s.verifying == 0, "request ", s.id,
               " asks for drafts behind tokens that are still being drawn");
    SIM_EXPECT("I26", task->drafts.empty() && task->most > 0 && task->most <= kDraftsMax,
               "request ", s.id, " asks for ", task->most, " drafts");
    const Job& job = *model_.find(s.id);
    if (s.length() > job.known()) continue;
    maker_.draw(job, s.length(), task->most, drafts);
    for (const std::int32_t id : drafts) {
      task->drafts.push_back({.id = id, .likelihood = static_cast<float>(maker_.random().unit())});
    }
    if (maker_.random().chance(settings_.draft_failure)) throw std::bad_alloc();
  }
}

void FakeDrafter::end(RunningRequest& request) {
  const std::uint64_t id = request.sequence().id;
  SIM_EXPECT("I26", request.ended(), "request ", id, " is told to end before its end");
  SIM_EXPECT("I26", std::find(ended_.begin(), ended_.end(), id) == ended_.end(), "request ", id,
             " ends twice");
  ended_.push_back(id);
}

}  // namespace ingot::sim
