// LoadQueue: requests for an adapter for which others wait already cost no load.
#include "server/common/load_queue.h"

#include <algorithm>
#include <utility>

#include "base/index.h"

namespace ingot {

bool LoadQueue::Waiting::has_room(const std::vector<std::string>& more, std::size_t names_max,
                                  std::size_t requests_max) const {
  const auto added = to_size(std::count_if(
      more.begin(), more.end(), [&](const auto& name) { return !names.contains(name); }));
  // A request may need more adapters than the limit; it waits alone.
  return requests < requests_max &&
         (added == 0 || names.empty() || names.size() + added <= names_max);
}

void LoadQueue::Waiting::add(const std::vector<std::string>& more) {
  for (const std::string& name : more) ++names[name];
  ++requests;
}

void LoadQueue::Waiting::remove(const std::vector<std::string>& gone) {
  for (const std::string& name : gone) {
    const auto found = names.find(name);
    if (--found->second == 0) names.erase(found);
  }
  --requests;
}

std::shared_ptr<const void> LoadQueue::enter(std::vector<std::string> names, std::size_t key) {
  const auto half = [](std::size_t most) { return std::max<std::size_t>(1, most / 2); };
  const std::lock_guard lock(mutex_);
  if (!all_.has_room(names, names_max_, requests_max_)) return nullptr;
  const auto own = keys_.find(key);
  if (key > 0 && own != keys_.end() &&
      !own->second.has_room(names, half(names_max_), half(requests_max_))) {
    return nullptr;
  }
  auto place = std::make_unique<const Place>(Place{std::move(names), key});
  all_.add(place->names);
  keys_[key].add(place->names);
  return std::shared_ptr<const Place>(place.release(), [this](const Place* entered) {
    leave(*entered);
    delete entered;
  });
}

void LoadQueue::leave(const Place& place) {
  const std::lock_guard lock(mutex_);
  all_.remove(place.names);
  const auto own = keys_.find(place.key);
  own->second.remove(place.names);
  if (own->second.requests == 0) keys_.erase(own);
}

}  // namespace ingot
