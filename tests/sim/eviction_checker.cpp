// Counting domains anew at each eviction.
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

EvictionChecker::Domain& EvictionChecker::domain_of(const PrefixKey& key) {
  const auto at = std::find_if(domains_.begin(), domains_.end(),
                               [&](const Domain& d) { return d.name == key.domain; });
  return at != domains_.end() ? *at : domains_.emplace_back(Domain{.name = key.domain});
}

void EvictionChecker::check(std::int32_t g, std::int32_t victim) {
  const BlockPool& pool = cache_.pool(g);
  domains_.clear();
  for (std::int32_t b = 0; b < pool.total(); ++b) {
    const PrefixKey* const key = prefixes_->key_of(g, b);
    if (key == nullptr) continue;
    Domain& domain = domain_of(*key);
    ++domain.known;
    domain.unheld += pool.references(b) == 0 ? 1 : 0;
  }
  const PrefixKey* const key = prefixes_->key_of(g, victim);
  SIM_EXPECT("I19", key != nullptr, "block ", victim, " is given up and was not known");
  const Domain& loser = domain_of(*key);
  const std::int64_t domains = std::ssize(domains_);
  for (const Domain& other : domains_) {
    SIM_EXPECT("I19",
               loser.known * domains >= pool.total() || other.known * domains <= pool.total() ||
                   other.unheld == 0,
               "a domain with ", loser.known, " of ", pool.total(), " blocks loses one, of ",
               domains, " domains one with ", other.known, " has ", other.unheld, " to give");
  }
}

}  // namespace ingot::sim
