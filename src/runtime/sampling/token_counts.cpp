// TokenCounts: finds or adds the count of an id.
#include "runtime/sampling/token_counts.h"

namespace ingot {

TokenCounts::Count& TokenCounts::count_of(std::int32_t id) {
  const auto [place, added] = places_.try_emplace(id, counts_.size());
  if (added) counts_.push_back({.id = id, .generated = 0});
  return counts_[place->second];
}

}  // namespace ingot
