// LoadQueue: requests for an adapter for which others wait already cost no load.
#include "server/common/load_queue.h"

#include <algorithm>
#include <utility>

#include "base/index.h"

namespace ingot {

std::shared_ptr<const void> LoadQueue::enter(std::vector<std::string> names) {
  const std::lock_guard lock(mutex_);
  const auto more = to_size(std::count_if(
      names.begin(), names.end(), [&](const auto& name) { return !names_.contains(name); }));
  // A request may need more adapters than the limit; it waits alone.
  const bool has_room = requests_ < requests_max_ &&
                        (more == 0 || names_.empty() || names_.size() + more <= names_max_);
  if (!has_room) return nullptr;
  auto place = std::make_unique<const std::vector<std::string>>(std::move(names));
  for (const std::string& name : *place) ++names_[name];
  ++requests_;
  return std::shared_ptr<const std::vector<std::string>>(
      place.release(), [this](const std::vector<std::string>* entered) {
        leave(*entered);
        delete entered;
      });
}

void LoadQueue::leave(const std::vector<std::string>& names) {
  const std::lock_guard lock(mutex_);
  --requests_;
  for (const std::string& name : names) {
    const auto found = names_.find(name);
    if (--found->second == 0) names_.erase(found);
  }
}

}  // namespace ingot
