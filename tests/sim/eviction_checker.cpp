// EvictionChecker: recounts the owners' blocks at each eviction.
#include "sim/eviction_checker.h"

#include <algorithm>

#include "sim/violation.h"

namespace ingot::sim {

EvictionChecker::EvictionChecker(KvCache& cache, const PrefixIndex* prefixes)
    : cache_(cache), prefixes_(prefixes) {
  if (prefixes == nullptr) return;
  for (std::int32_t g = 0; g < cache.groups(); ++g) {
    BlockPool& pool = cache.pool(g);
    pool.on_evict([this, g, forget = pool.on_evict({})](std::int32_t block) {
      check(g, block);
      forget(block);
    });
  }
}

EvictionChecker::Owner& EvictionChecker::owner_of(const PrefixKey& key) {
  const auto at = std::find_if(owners_.begin(), owners_.end(),
                               [&](const Owner& o) { return o.name == key.tenant; });
  return at != owners_.end() ? *at : owners_.emplace_back(Owner{.name = key.tenant});
}

void EvictionChecker::check(std::int32_t g, std::int32_t victim) {
  const BlockPool& pool = cache_.pool(g);
  owners_.clear();
  for (std::int32_t b = 0; b < pool.total(); ++b) {
    const PrefixKey* const key = prefixes_->key_of(g, b);
    if (key == nullptr) continue;
    Owner& owner = owner_of(*key);
    ++owner.known;
    owner.unheld += pool.references(b) == 0 ? 1 : 0;
  }
  const PrefixKey* const key = prefixes_->key_of(g, victim);
  SIM_EXPECT("I19", key != nullptr, "block ", victim, " is given up and was not known");
  const Owner& loser = owner_of(*key);
  const std::int64_t owners = std::ssize(owners_);
  for (const Owner& other : owners_) {
    SIM_EXPECT("I19",
               loser.known * owners >= pool.total() || other.known * owners <= pool.total() ||
                   other.unheld == 0,
               "an owner with ", loser.known, " of ", pool.total(), " blocks loses one, of ",
               owners, " owners one with ", other.known, " has ", other.unheld, " to give");
  }
}

}  // namespace ingot::sim
