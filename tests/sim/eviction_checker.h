// EvictionChecker: sees every block that is given up, and counts whose it was.
#pragma once

#include <cstdint>
#include <vector>

#include "kv/prefix_index.h"

namespace ingot::sim {

/// I19: while an owner that has more than its share could give a block, none that has less loses
/// one. A share is the pool divided by the owners that have known blocks in it.
class EvictionChecker {
 public:
  /// Listens to the pools of `cache`, in front of the index, for as long as that does.
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
