// Where an admitted sequence begins: with the blocks of its cached prefix, or of a fork's prompt.
#pragma once

#include <vector>

#include "kv/prefix_index.h"
#include "runtime/schedule/sequence.h"

namespace ingot {

/// The cached prefix of a sequence. Empty without an index, with embeddings, or if the sequence
/// does not read the cache. Changes nothing.
PrefixIndex::Match find_prefix(PrefixIndex* prefixes, const Sequence& sequence);

/// Gives a sequence, which was just admitted, the blocks of the whole prompt that it is a fork of,
/// if they can be shared; else those of `match`. Sets `computed`, `place` and `miss`. Appends the
/// copies to make before the next step.
void start_sequence(PrefixIndex* prefixes, Sequence& sequence, const PrefixIndex::Match& match,
                    std::vector<BlockCopy>& copies);

}  // namespace ingot
