// Lists the matrices to pack, and makes the pack cache's key from them.
#include "model/weight_list.h"

#include "base/index.h"
#include "base/text.h"
#include "quant/encode.h"
#include "quant/formats.h"

namespace ingot {

namespace {

/// Adds the matrices W of a BoundLayer or a Layer, in the order in which they are packed.
template <class W, class L>
void add_weights(std::vector<const W*>& weights, const L& layer) {
  for (const W* w :
       {&layer.qkv, &layer.q_down, &layer.q_up, &layer.kv_down, &layer.attn_out, &layer.gate_up,
        &layer.down, &layer.router, &layer.shared_gate_up, &layer.shared_down, &layer.shared_router,
        &layer.input_gate, &layer.input_out}) {
    if (*w) weights.push_back(w);
  }
  for (const auto* list : {&layer.k_up, &layer.v_up, &layer.expert_gate_up, &layer.expert_down}) {
    for (const W& w : *list) weights.push_back(&w);
  }
}

/// Whether the layer can use the pages of the first layer. An encoder's layer needs its keys and
/// values only while it runs, so all layers share pages, which stay in the caches.
bool shares_pages(const Spec& spec, std::int64_t layer, std::int64_t first_layer) {
  const LayerSpec& a = spec.layer(layer);
  const LayerSpec& b = spec.layer(first_layer);
  return !spec.causal && layer > first_layer && a.kv_heads == b.kv_heads &&
         a.head_dim == b.head_dim && a.value_dim == b.value_dim;
}

}  // namespace

std::int64_t last_layer(const BoundModel& bound, const ModelOptions& options) {
  return options.last_layer < 0 ? bound.spec.layers : options.last_layer;
}

std::int32_t kv_source_of(const Spec& spec, std::int64_t layer, std::int64_t first_layer) {
  if (shares_pages(spec, layer, first_layer)) return 0;
  const std::int32_t source = spec.layer(layer).kv_source;
  return source < 0 ? -1 : source - static_cast<std::int32_t>(first_layer);
}

std::vector<KvUse> planned_kv_uses(const BoundModel& bound, const ModelOptions& options) {
  std::vector<KvUse> all;
  for (std::int64_t i = options.first_layer; i < last_layer(bound, options); ++i) {
    all.push_back({attention_of(bound.spec, i), kv_source_of(bound.spec, i, options.first_layer)});
  }
  return all;
}

bool needs_embedding(const BoundModel& bound, const ModelOptions& options) {
  return options.embedding || (options.head && bound.spec.tied);
}

std::vector<const BoundWeight*> all_weights(const BoundModel& bound, const ModelOptions& options) {
  std::vector<const BoundWeight*> weights;
  for (std::int64_t i = options.first_layer; i < last_layer(bound, options); ++i) {
    add_weights(weights, at(bound.layers, i));
  }
  if (needs_embedding(bound, options) && bound.embedding) weights.push_back(&bound.embedding);
  if (options.head && bound.head) weights.push_back(&bound.head);
  if (options.embedding && bound.layer_embedding) {
    weights.push_back(&bound.layer_embedding);
    weights.push_back(&bound.layer_projection);
  }
  for (const BoundWeight& w : bound.dense) weights.push_back(&w);
  return weights;
}

std::vector<const Weight*> loaded_weights(const Model& model) {
  std::vector<const Weight*> weights;
  for (const Layer& layer : model.layers) add_weights(weights, layer);
  for (const Weight* w :
       {&model.embedding, &model.own_head, &model.layer_embedding, &model.layer_projection}) {
    if (*w) weights.push_back(w);
  }
  for (const Weight& w : model.dense) weights.push_back(&w);
  return weights;
}

Format held_format(const BoundWeight& w, const BoundPart& part, const ModelOptions& options) {
  const Format stored = part.format();
  if (!options.weights || !format_info(stored).dense) return stored;
  if (*options.weights == F32::kFormat) return F32::kFormat;
  return w.rounds ? format_for_rows(*options.weights, part.cols) : stored;
}

std::vector<View> held_views(const BoundWeight& w, const ModelOptions& options) {
  std::vector<View> views;
  for (const BoundPart& part : w.parts) {
    const Format format = held_format(w, part, options);
    views.push_back({nullptr, format, part.rows, part.cols, row_bytes(format, part.cols)});
  }
  return views;
}

std::string packed_key(const Checkpoint& checkpoint, const BoundModel& bound,
                       const Backend& backend, const ModelOptions& options) {
  const std::vector<FileIdentity> files = checkpoint.identities();
  if (files.empty() || backend.packed_layout() == 0) return {};
  std::string key = cat(backend.name(), " layout ", backend.packed_layout(), "\n");
  for (const FileIdentity& file : files) {
    key += cat("file ", file.device, " ", file.inode, " ", file.bytes, " ", file.modified_ns, " ",
               file.changed_ns, "\n");
  }
  for (const BoundWeight* w : all_weights(bound, options)) {
    key += use_of(bound, *w) == Use::kExact ? "exact matrix" : "matrix";
    for (const BoundPart& part : w->parts) {
      key += cat(" ", part.described(), " ", format_name(held_format(*w, part, options)));
    }
    key += "\n";
  }
  return key;
}

}  // namespace ingot
