// Lists the matrices that loading packs, with their order and packed formats.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/model.h"

namespace ingot {

/// One past the last layer to load.
std::int64_t last_layer(const BoundModel& bound, const ModelOptions& options);

/// Whether loading packs the embedding matrix, for token ids or as a tied head.
bool needs_embedding(const BoundModel& bound, const ModelOptions& options);

/// The matrices that `options` select, in packing order.
std::vector<const BoundWeight*> all_weights(const BoundModel& bound, const ModelOptions& options);

/// The format in which a part is packed: the file's, or the format to which loading rounds it.
Format held_format(const BoundWeight& w, const BoundPart& part, const ModelOptions& options);

/// Views with the shape and packed format of each part; their data is null.
std::vector<View> held_views(const BoundWeight& w, const ModelOptions& options);

/// The pack cache's key: a text of everything that determines the packed bytes (files with sizes
/// and times, parts and formats of each matrix, the backend's layout). Empty if the pack cache
/// cannot be used, because the model is not in files or the backend has no packed layout.
std::string packed_key(const Checkpoint& checkpoint, const BoundModel& bound,
                       const Backend& backend, const ModelOptions& options);

}  // namespace ingot
