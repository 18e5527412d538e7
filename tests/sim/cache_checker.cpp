// CacheChecker: recounts references, lists and index entries.
#include "sim/cache_checker.h"

#include <algorithm>

#include "sim/violation.h"

namespace ingot::sim {

CacheChecker::CacheChecker(const KvCache& cache) : cache_(cache) {
  for (std::int32_t g = 0; g < cache.groups(); ++g) {
    held_.emplace_back(static_cast<std::size_t>(cache.pool(g).total()));
  }
  idle_ = held_;
}

void CacheChecker::begin() {
  for (Counts* counts : {&held_, &idle_}) {
    for (auto& group : *counts) std::fill(group.begin(), group.end(), 0);
  }
}

void CacheChecker::add(const Sequence& s) {
  const std::int64_t to_come = s.verifying > 0 ? s.verifying : s.pending;
  SIM_EXPECT("I7",
             s.computed + s.in_flight <= s.length() + to_come && s.in_flight >= 0 && s.pending >= 0,
             "request ", s.id, " has ", s.length(), " rows and computed ", s.computed);
  SIM_EXPECT("I26", s.blocks.filled() <= s.length(), "request ", s.id, " has ", s.length(),
             " rows and keeps ", s.blocks.filled(), " keys");
  for (std::int32_t g = 0; g < cache_.groups(); ++g) {
    const auto table = s.blocks.table(g);
    const std::int64_t room = std::ssize(table) * kBlockTokens;
    SIM_EXPECT("I7", s.computed + s.in_flight <= room && s.blocks.filled() <= room, "request ",
               s.id, " computed ", s.computed, " rows in ", table.size(), " blocks");
    SIM_EXPECT("I12", s.admitted || table.empty(), "request ", s.id, " waits with ", table.size(),
               " blocks");
    for (const std::int32_t block : table) {
      if (block < 0) continue;
      ++held_[static_cast<std::size_t>(g)][static_cast<std::size_t>(block)];
      if (!s.blocks.is_idle()) continue;
      ++idle_[static_cast<std::size_t>(g)][static_cast<std::size_t>(block)];
    }
  }
  SIM_EXPECT("I23", !s.whole || s.place.node < 0, "request ", s.id, " has cached rows");
  SIM_EXPECT("I7", s.place.node < 0 || s.place.blocks * kBlockTokens <= s.blocks.filled(),
             "request ", s.id, " registered ", s.place.blocks, " blocks of ", s.blocks.filled(),
             " keys");
}

void CacheChecker::end(const PrefixIndex* prefixes) const {
  for (std::int32_t g = 0; g < cache_.groups(); ++g) {
    const BlockPool& pool = cache_.pool(g);
    std::int64_t referenced = 0, pinned = 0, idle = 0;
    for (std::int32_t b = 0; b < pool.total(); ++b) {
      const std::int32_t references = pool.references(b);
      const std::int32_t held = held_[static_cast<std::size_t>(g)][static_cast<std::size_t>(b)];
      const std::int32_t idle_holders =
          idle_[static_cast<std::size_t>(g)][static_cast<std::size_t>(b)];
      referenced += references > 0 ? 1 : 0;
      idle += idle_holders > 0 && idle_holders == references ? 1 : 0;
      pinned += references - held;
      SIM_EXPECT("I3", references >= held, "block ", b, " of group ", g, " has ", references,
                 " references and ", held, " holders");
    }
    SIM_EXPECT("I1", pool.free() + pool.evictable() + referenced == pool.total(), pool.free(),
               " free, ", pool.evictable(), " evictable, ", referenced, " in use of ",
               pool.total());
    SIM_EXPECT("I24", pool.idle() == idle, pool.idle(), " blocks count as idle, ", idle, " are");
    SIM_EXPECT("I3", pinned == cache_.releasing(g), pinned,
               " references without a holder, to be released are ", cache_.releasing(g));
    pool.check();
  }
  if (prefixes != nullptr) prefixes->check();
}

void CacheChecker::check_idle(const PrefixIndex* prefixes) const {
  for (std::int32_t g = 0; g < cache_.groups(); ++g) {
    const BlockPool& pool = cache_.pool(g);
    SIM_EXPECT("I14", pool.free() == pool.total(), pool.free(), " of ", pool.total(),
               " blocks are free after all");
  }
  SIM_EXPECT("I14", prefixes == nullptr || prefixes->nodes() == 0, "something is still known");
}

}  // namespace ingot::sim
