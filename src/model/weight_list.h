// Lists what loading a model takes: layers, and matrices in packing order with packed formats.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/model.h"

namespace ingot {

/// Returns the number of the last layer to load, plus one.
std::int64_t last_layer(const BoundModel& bound, const ModelOptions& options);

/// Returns the layer whose pages a layer uses, as an index from `first_layer`; -1: its own. An
/// encoder's layers all use those of the first one.
std::int32_t kv_source_of(const Spec& spec, std::int64_t layer, std::int64_t first_layer);

/// Returns how the layers that `options` select use keys and values, without rotary tables, which
/// do not exist before loading.
std::vector<KvUse> planned_kv_uses(const BoundModel& bound, const ModelOptions& options);

/// Returns whether to pack the embedding matrix, because token ids or a tied head need it.
bool needs_embedding(const BoundModel& bound, const ModelOptions& options);

/// Returns the matrices that `options` select, in packing order.
std::vector<const BoundWeight*> all_weights(const BoundModel& bound, const ModelOptions& options);

/// Returns a model's loaded matrices, in the same order as the list of `all_weights` from which
/// `load_model` made them.
std::vector<const Weight*> loaded_weights(const Model& model);

/// Returns a part's packed format: the file's format, or the format to which loading converts it.
Format held_format(const BoundWeight& w, const BoundPart& part, const ModelOptions& options);

/// Returns a view for each part, with the part's shape and packed format, and with null data.
std::vector<View> held_views(const BoundWeight& w, const ModelOptions& options);

/// Returns kExact for a weight whose rows `linear` does not round, else kPlain.
inline Use use_of(const BoundModel& bound, const BoundWeight& w) {
  return bound.exact_rows ? Use::kExact : w.use;
}

/// Returns the pack cache's key: a text with everything that determines the packed bytes (files
/// with sizes and times, parts and formats of each matrix, the backend's layout). The key is empty
/// if the model is not in files or the backend has no packed layout: the pack cache cannot be used.
std::string packed_key(const Checkpoint& checkpoint, const BoundModel& bound,
                       const Backend& backend, const ModelOptions& options);

}  // namespace ingot
