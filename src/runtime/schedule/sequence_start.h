// Starts an admitted sequence: with the blocks of its cached prefix, or of another choice's prompt.
#pragma once

#include <cstdint>
#include <vector>

#include "kv/prefix_index.h"
#include "runtime/schedule/sequence.h"

namespace ingot {

/// Returns the cached prefix of a sequence, without taking its blocks. Returns an empty match if
/// `prefixes` is null, or if the sequence has embeddings or does not read the cache.
PrefixIndex::Match find_prefix(PrefixIndex* prefixes, const Sequence& sequence);

/// Returns how many leading rows of a waiting sequence will be in the prefix index when the running
/// sequence `other` has computed its rows.
std::int64_t rows_to_share(const PrefixIndex* prefixes, const Sequence& sequence,
                           const Sequence& other);

/// Gives a newly admitted sequence its first blocks: all prompt blocks of `fork_of` if the sequence
/// can share them, otherwise the blocks of `match`. Sets the sequence's `computed`, `place` and
/// `miss`. Appends to `copies` the block copies to make before the next step.
void start_sequence(PrefixIndex* prefixes, Sequence& sequence, const PrefixIndex::Match& match,
                    std::vector<BlockCopy>& copies);

}  // namespace ingot
