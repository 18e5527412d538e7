// Lists the matrices that are packed while a model loads, in order, and their packed formats.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/model.h"

namespace ingot {

/// Number of the last layer to load, plus one.
std::int64_t last_layer(const BoundModel& bound, const ModelOptions& options);

/// Whether to pack the embedding matrix, because token ids or a tied head need it.
bool needs_embedding(const BoundModel& bound, const ModelOptions& options);

/// The matrices that `options` select, in packing order.
std::vector<const BoundWeight*> all_weights(const BoundModel& bound, const ModelOptions& options);

/// The format in which a part is packed: the file's format, or the format to which it is rounded.
Format held_format(const BoundWeight& w, const BoundPart& part, const ModelOptions& options);

/// For each part, a view with the part's shape and packed format, and with null data.
std::vector<View> held_views(const BoundWeight& w, const ModelOptions& options);

/// The pack cache's key: a text that names everything that determines the packed bytes (files with
/// sizes and times, parts and formats of each matrix, the backend's layout). Empty if the model is
/// not in files or the backend has no packed layout, so that the pack cache cannot be used.
std::string packed_key(const Checkpoint& checkpoint, const BoundModel& bound,
                       const Backend& backend, const ModelOptions& options);

}  // namespace ingot
