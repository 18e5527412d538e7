// The matrices of a checkpoint that are packed, their order and formats.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/model.h"

namespace ingot {

/// One past the last layer that is loaded.
std::int64_t last_layer(const BoundModel& bound, const ModelOptions& options);

/// Whether the embedding matrix is packed, for token ids or as a tied head.
bool needs_embedding(const BoundModel& bound, const ModelOptions& options);

/// The matrices that `options` ask for, in the order in which they are packed.
std::vector<const BoundWeight*> all_weights(const BoundModel& bound, const ModelOptions& options);

/// The format of a packed part: the file's, unless it is rounded while loading.
Format held_format(const BoundWeight& w, const BoundPart& part, const ModelOptions& options);

/// Views of the parts in their packed formats, without data.
std::vector<View> held_views(const BoundWeight& w, const ModelOptions& options);

/// Everything that fixes the bytes of the packed weights, as text: files and their states, the
/// parts of each matrix, formats, and the backend's layout. Empty where packed weights cannot be
/// stored, because the model is not in files or the backend has no packed layout.
std::string packed_key(const Checkpoint& checkpoint, const BoundModel& bound,
                       const Backend& backend, const ModelOptions& options);

}  // namespace ingot
