// GuaranteedBlocks: keeps blocks for sequences that were preempted too often, so that these finish.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kv/kv_cache.h"
#include "runtime/schedule/sequence.h"

namespace ingot {

/// A sequence that was preempted `preemptions_max` times gets a guarantee at its next admission.
/// While this sequence runs, no other sequence takes blocks that this sequence may still need.
class GuaranteedBlocks {
 public:
  /// `cache` must outlive this object. `rows` is the token budget of a step.
  GuaranteedBlocks(const KvCache& cache, std::int32_t rows, std::int32_t preemptions_max);

  /// Returns whether the sequence was preempted so often that it needs a guarantee.
  bool is_due(const Sequence& s) const { return s.preemptions >= preemptions_max_; }
  /// Gives a guarantee to a sequence that was just admitted, if `is_due` returns true for it.
  void grant(Sequence& s);
  /// Revokes the guarantee, if any, of a sequence that stops running.
  void revoke(Sequence& s);

  /// Returns the most blocks of group g that the sequence can ever hold.
  std::int64_t blocks_max(const Sequence& s, std::int32_t g) const;
  /// Returns the number of blocks of group g that guarantees reserve for running sequences.
  std::int64_t reserved(std::span<Sequence* const> running, std::int32_t g) const;

  /// Returns each group's number of blocks that only guaranteed sequences may take. `withhold_all`
  /// counts them; `withhold` adds and `hand_out` subtracts one sequence's blocks.
  std::span<const std::int64_t> withheld() const { return withheld_; }
  void withhold_all(std::span<Sequence* const> running);
  void withhold(const Sequence& s) { add(s, 1); }
  /// Lets a sequence take the blocks that its guarantee reserves. Call `withhold` afterwards.
  void hand_out(const Sequence& s) { add(s, -1); }

 private:
  void add(const Sequence& s, std::int64_t sign);
  std::int64_t blocks_to_come(const Sequence& s, std::int32_t g) const;

  const KvCache& cache_;
  std::int32_t rows_;
  std::int32_t preemptions_max_;
  std::int64_t granted_ = 0;  ///< number of sequences with a guarantee
  std::vector<std::int64_t> withheld_;
};

}  // namespace ingot
