// EvictionChecker: checks that each evicted block belongs to the right owner.
#pragma once

#include <cstdint>
#include <vector>

#include "kv/prefix_index.h"

namespace ingot::sim {

/// I19: while an owner above its share has an evictable block, no owner below its share loses one.
/// A share is the pool divided by the owners with cached blocks in it.
class EvictionChecker {
 public:
  /// Listens to the pools of `cache` before the index does. The index must outlive it.
  EvictionChecker(KvCache& cache, const PrefixIndex* prefixes);
  EvictionChecker(const EvictionChecker&) = delete;
  EvictionChecker& operator=(const EvictionChecker&) = delete;

 private:
  struct Owner {
    std::uint64_t name = 0;
    std::int64_t known = 0;
    std::int64_t unheld = 0;
  };
  void check(std::int32_t g, std::int32_t victim);
  Owner& owner_of(const PrefixKey& key);

  const KvCache& cache_;
  const PrefixIndex* prefixes_;
  std::vector<Owner> owners_;
};

}  // namespace ingot::sim
