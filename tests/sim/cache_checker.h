// CacheChecker: counts every block of a cache anew, from the sequences that hold them.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/schedule/scheduler.h"

namespace ingot::sim {

/// Conservation, references and positions after a tick: I1, I2, I3 and I7, and I5 from the prefix
/// index itself.
class CacheChecker {
 public:
  explicit CacheChecker(const KvCache& cache);

  /// Sequences follow, all that are alive.
  void begin();
  void add(const Sequence& s);
  /// All were there. Walks the lists and the index.
  void end(const PrefixIndex* prefixes) const;
  /// Nobody is alive and no step is under way.
  void check_idle(const PrefixIndex* prefixes) const;

 private:
  const KvCache& cache_;
  std::vector<std::vector<std::int32_t>> held_;  ///< by group and block: table entries
};

}  // namespace ingot::sim
