// GuaranteedBlocks: blocks kept for sequences that were preempted too often, so that they finish.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kv/kv_cache.h"
#include "runtime/schedule/sequence.h"

namespace ingot {

/// A sequence that was preempted `preemptions_max` times gets a guarantee with its next admission:
/// no other sequence takes the blocks that it may still need. It keeps it until it stops running.
class GuaranteedBlocks {
 public:
  /// `cache` outlives this. `rows`: of the largest step.
  GuaranteedBlocks(const KvCache& cache, std::int32_t rows, std::int32_t preemptions_max);

  /// Whether the sequence is admitted only with a guarantee.
  bool is_due(const Sequence& s) const { return s.preemptions >= preemptions_max_; }
  /// The sequence was admitted: gives it a guarantee if that is due.
  void grant(Sequence& s);
  /// The sequence runs no longer.
  void revoke(Sequence& s);

  /// Blocks of group g that the sequence may hold at most.
  std::int64_t blocks_max(const Sequence& s, std::int32_t g) const;
  /// Blocks of group g that running sequences may still take by their guarantees.
  std::int64_t reserved(std::span<Sequence* const> running, std::int32_t g) const;

  /// By group: blocks that the pool must not give to sequences without a guarantee. Counted by
  /// `withhold_all`, and changed by `withhold` and `hand_out`.
  std::span<const std::int64_t> withheld() const { return withheld_; }
  void withhold_all(std::span<Sequence* const> running);
  void withhold(const Sequence& s) { add(s, 1); }
  /// While the sequence itself takes blocks.
  void hand_out(const Sequence& s) { add(s, -1); }

 private:
  void add(const Sequence& s, std::int64_t sign);
  std::int64_t blocks_to_come(const Sequence& s, std::int32_t g) const;

  const KvCache& cache_;
  std::int32_t rows_;
  std::int32_t preemptions_max_;
  std::int64_t granted_ = 0;  ///< running sequences with a guarantee
  std::vector<std::int64_t> withheld_;
};

}  // namespace ingot
