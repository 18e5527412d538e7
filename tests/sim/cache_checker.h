// CacheChecker: recounts every block of a cache from the sequences that hold them.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/schedule/scheduler.h"

namespace ingot::sim {

/// Checks conservation, references and positions of blocks after a tick: I1, I2, I3, I7 and I24,
/// and I5 from the prefix index itself.
class CacheChecker {
 public:
  explicit CacheChecker(const KvCache& cache);

  /// Begins a check. Calls of `add` with all live sequences follow.
  void begin();
  void add(const Sequence& s);
  /// Ends a check: walks the lists and the index.
  void end(const PrefixIndex* prefixes) const;
  /// Checks a cache without live sequences and steps under way.
  void check_idle(const PrefixIndex* prefixes) const;

 private:
  const KvCache& cache_;
  using Counts = std::vector<std::vector<std::int32_t>>;  ///< by group and block

  Counts held_;  ///< table entries
  Counts idle_;  ///< table entries of idle sequences
};

}  // namespace ingot::sim
