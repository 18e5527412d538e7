// RestingRequests: hands the blocks of an ended request to the next one of its live sequence.
#include "runtime/live/resting_requests.h"

#include <utility>

namespace ingot {

void RestingRequests::add(std::unique_ptr<RunningRequest>& request) {
  const Key key = request->live();
  std::unique_ptr<RunningRequest>& place = requests_[key];
  if (place != nullptr) scheduler_.remove(place->sequence());
  place = std::move(request);
  place->leave_live();
  scheduler_.rest(place->sequence());
}

void RestingRequests::enqueue(RunningRequest& request) {
  const auto before = request.live() ? requests_.find(request.live()) : requests_.end();
  if (before == requests_.end()) return scheduler_.add(request.sequence());
  scheduler_.add_after(request.sequence(), before->second->sequence());
  requests_.erase(before);
}

void RestingRequests::drop_ended() {
  std::erase_if(requests_, [this](const auto& entry) {
    Sequence& sequence = entry.second->sequence();
    if (!entry.first.expired() && sequence.admitted) return false;
    scheduler_.remove(sequence);
    return true;
  });
}

void RestingRequests::clear() {
  for (const auto& [key, request] : requests_) scheduler_.remove(request->sequence());
  requests_.clear();
}

std::int64_t RestingRequests::held(std::int32_t g) const {
  std::int64_t blocks = 0;
  for (const auto& [key, request] : requests_) blocks += request->sequence().blocks.held(g);
  return blocks;
}

}  // namespace ingot
