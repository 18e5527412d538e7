// KeptPrefixes: keys and values of ended turns, for the turns that go on from them.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/sequence.h"

namespace ingot {

/// What the last turns of some conversations computed. Whatever is here can be given up at any
/// moment: it saves time and changes no bit.
///
/// Bookkeeping alone, and nothing allocates after construction: turns end where no memory is left.
class KeptPrefixes {
 public:
  /// Of at most `max` conversations; more give up the one that was kept longest ago.
  explicit KeptPrefixes(std::size_t max) : max_(max) { kept_.reserve(max); }

  /// Takes over the tokens and blocks of the rows that `sequence` has computed, in place of what
  /// its conversation had. Nothing happens without a conversation, without a computed row, and to a
  /// sequence with embeddings, which are not compared.
  void keep(Sequence& sequence);
  /// Hands what the conversation of `sequence` has over to it, which has computed nothing: the rows
  /// of the longest prefix that both have, but for its last row and rows that are wanted as scores
  /// or hidden states. Where window groups have forgotten what the row after that prefix sees,
  /// nothing is left of it.
  void resume(Sequence& sequence);
  /// Gives back the blocks of what was kept longest ago; false when nothing is kept.
  bool drop_oldest();
  /// Blocks of group g that are kept.
  std::int64_t held(std::int32_t g) const;

 private:
  struct Kept {
    std::uint64_t conversation = 0;
    std::vector<std::int32_t> tokens;  ///< of the computed rows
    SequenceBlocks blocks;
  };
  std::vector<Kept>::iterator find(std::uint64_t conversation);

  std::size_t max_ = 0;
  std::vector<Kept> kept_;  ///< by age, the oldest first
};

}  // namespace ingot
