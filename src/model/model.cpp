// load_model: packs bound tensors into weights, or takes them from the pack cache.
#include "model/model.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/first_error.h"
#include "base/fp_env.h"
#include "base/index.h"
#include "base/text.h"
#include "model/weight_keeper.h"
#include "model/weight_list.h"
#include "quant/encode.h"
#include "quant/formats.h"

namespace ingot {

namespace {

/// Elements of a row of a tensor.
std::int64_t row_length(const TensorInfo& t) { return t.shape.empty() ? 1 : t.shape.back(); }

/// Throws an error if one of the values, which are from row `row` of a tensor, is not finite.
void refuse_not_finite(const Checkpoint& checkpoint, const TensorInfo& t, std::int64_t row,
                       std::span<const float> values) {
  const auto bad =
      std::find_if(values.begin(), values.end(), [](float v) { return !std::isfinite(v); });
  if (bad == values.end()) return;
  throw model_error(checkpoint.file_of(t), cat("tensor ", printable(t.name)), t.offset,
                    cat("row ", row, " holds ", std::isnan(*bad) ? "NaN" : "an infinite value"));
}

/// Does what the public require_finite does, for a part of a tensor.
void require_finite(const Checkpoint& checkpoint, const BoundPart& part, const View& view) {
  std::vector<float> row(to_size(part.cols));
  for (std::int64_t r = 0; r < part.rows; ++r) {
    decode_row(view.format, view.row_data(r), part.cols, row.data());
    refuse_not_finite(checkpoint, *part.tensor, part.first_row + r, row);
  }
}

/// Rounds or widens a part's rows to another format.
std::vector<std::byte> converted_rows(const Checkpoint& checkpoint, const BoundPart& part,
                                      const View& from, Format format, ThreadPool& pool) {
  const std::int64_t each = row_bytes(format, part.cols);
  std::vector<std::byte> out(to_size(part.rows * each));
  std::vector<float> rows(to_size(part.cols * pool.size()));
  FirstError failure;
  pool.parallel_for(part.rows, [&](std::int64_t r, int thread) {
    float* row = rows.data() + thread * part.cols;
    decode_row(from.format, from.row_data(r), part.cols, row);
    try {
      encode_row(format, row, part.cols, out.data() + r * each);
    } catch (const Error& error) {
      failure.keep(r, error);
    }
  });
  if (failure.error() == nullptr) return out;
  const TensorInfo& t = *part.tensor;
  throw model_error(checkpoint.file_of(t), cat("tensor ", printable(t.name)), t.offset,
                    cat("row ", part.first_row + failure.item(), ": ", failure.error()->message()));
}

class Loader {
 public:
  Loader(Checkpoint& checkpoint, const BoundModel& bound, Backend& backend,
         const ModelOptions& options, Progress progress)
      : checkpoint_(checkpoint),
        bound_(bound),
        backend_(backend),
        options_(options),
        progress_(progress) {
    for (const BoundWeight* w : all_weights(bound, options)) total_ += file_bytes(*w);
  }

  std::unique_ptr<const Model> load() {
    check_parts();
    check_weights_format();
    model_->spec = bound_.spec;
    model_->first_layer = options_.first_layer;
    model_->adapter_targets = AdapterTargets(bound_, checkpoint_.config().naming, options_);
    for (const RopeSpec& rope : bound_.spec.ropes) {
      model_->ropes.push_back(make_rope_table(backend_, rope, options_.context));
    }
    load_position_bias();
    find_packed();
    for (std::int64_t i = options_.first_layer; i < last_layer(bound_, options_); ++i) {
      load_layer(i);
    }
    load_ends();
    checkpoint_.expect_unchanged();
    keep_packed();
    return std::move(model_);
  }

 private:
  static std::uint64_t file_bytes(const BoundWeight& w) {
    std::uint64_t bytes = 0;
    for (const BoundPart& part : w.parts) {
      bytes += static_cast<std::uint64_t>(part.rows * row_bytes(part.format(), part.cols));
    }
    return bytes;
  }

  void check_parts() const {
    const Family& family = find_family(bound_.spec.architecture, checkpoint_.name());
    const auto need = [&](bool wanted, bool there, TensorRole role) {
      if (!wanted || there) return;
      const RoleRule* rule = family.rule_of(role);
      const RoleNames names = rule == nullptr ? default_names(role) : rule->spelled();
      throw model_error(checkpoint_.name(), "tensors",
                        cat("tensor ", role_names(names), " is missing: this file is a backbone, ",
                            "which takes embeddings or gives hidden states only"));
    };
    const bool has_head = family.rule_of(TensorRole::kHead) != nullptr;
    const bool head =
        bound_.spec.tied ? static_cast<bool>(bound_.embedding) : static_cast<bool>(bound_.head);
    const std::int64_t context = checkpoint_.config().context;
    if (bound_.positions != nullptr && options_.context > context) {
      throw Error(ErrorCode::kInvalid,
                  cat(printable(checkpoint_.name(), 4096), ": `context` is ", options_.context,
                      ", but the model has ", context, " positions"));
    }
    need(options_.embedding, static_cast<bool>(bound_.embedding), TensorRole::kEmbedding);
    need(has_head && options_.head, head, TensorRole::kHead);
    const bool has_norm = family.rule_of(TensorRole::kFinalNorm) != nullptr;
    need(has_norm && (options_.head || options_.final_norm), static_cast<bool>(bound_.final_norm),
         TensorRole::kFinalNorm);
  }

  /// Whether `weights` is the format of the part in memory, or changes its format.
  bool gets_weights_format(const BoundWeight& w, const BoundPart& part) const {
    if (!w.rounds || !format_info(part.format()).dense) return false;
    const Format held = held_format(w, part, options_);
    return held == *options_.weights || held != part.format();
  }

  /// Refuses `weights` if no matrix can have it: the user expects another file.
  void check_weights_format() const {
    if (!options_.weights) return;
    for (const BoundWeight* w : all_weights(bound_, options_)) {
      for (const BoundPart& part : w->parts) {
        if (gets_weights_format(*w, part)) return;
      }
    }
    throw Error(ErrorCode::kInvalid,
                cat("`weights`: no matrix of ", printable(checkpoint_.name(), 4096), " can become ",
                    format_name(*options_.weights),
                    ", which takes F32, F16 or BF16; leave `weights` out, or open the model from "
                    "which this file was quantised"));
  }

  std::vector<float> decode_checked(const TensorInfo& t) const {
    if (options_.check_tensors) ingot::require_finite(checkpoint_, t);
    return decode_tensor(t);
  }

  /// Takes the packed weights from the cache, if it has them.
  void find_packed() {
    if (options_.pack_cache.folder.empty()) return;
    std::vector<std::int64_t> bytes;
    for (const BoundWeight* w : all_weights(bound_, options_)) {
      bytes.push_back(backend_.prepared_bytes(held_views(*w, options_), false, use_of(bound_, *w)));
    }
    keeper_.emplace(options_.pack_cache, packed_key(checkpoint_, bound_, backend_, options_),
                    std::move(bytes));
    if (auto packed = keeper_->find(pool())) model_->packed = std::move(*packed);
    total_ += keeper_->bytes_to_keep();
  }

  /// Stores the packed weights in the cache, unless they came from it. Copies weights only out of
  /// a device's own memory, one at a time: the memory plan has room for a copy only there.
  void keep_packed() {
    if (!keeper_) return;
    const std::vector<const Weight*> weights = loaded_weights(*model_);
    Buffer copy;
    keeper_->keep([&](std::size_t i) -> std::span<const std::byte> {
      const Weight& w = *weights[i];
      done_ += static_cast<std::uint64_t>(keeper_->bytes_of(i));
      progress_(done_, total_);
      if (backend_.host_memory()) return {w.storage.data(), to_size(w.storage.bytes())};
      if (copy.bytes() == 0) copy = allocate_host(keeper_->bytes_of_largest());
      const std::span out(copy.data(), to_size(keeper_->bytes_of(i)));
      backend_.packed(w, out);
      return out;
    });
    model_->warnings = keeper_->warnings();
    model_->notes = keeper_->notes();
  }

  Weight load_weight(const BoundWeight& w, Use use = Use::kPlain) {
    if (!w) return {};
    if (use_of(bound_, w) == Use::kExact) {
      use = use == Use::kGated ? Use::kGatedExact : Use::kExact;
    }
    std::vector<float> bias;
    for (const BoundVector& vector : w.biases) {
      const std::vector<float> values = decode_vector(vector);
      if (options_.check_tensors) {
        refuse_not_finite(checkpoint_, *vector.tensor, vector.first / row_length(*vector.tensor),
                          values);
      }
      bias.insert(bias.end(), values.begin(), values.end());
    }
    const std::span<const std::span<const std::byte>> kept = model_->packed.weights;
    Weight weight = kept.empty()
                        ? prepare(w, bias, use)
                        : backend_.adopt(held_views(w, options_), bias, kept[loaded_], use);
    weight.number = static_cast<std::int32_t>(loaded_++);
    // The memory pages of a stack of experts are released with its last expert.
    for (const BoundPart& part : w.parts) {
      if (!part.ends_tensor()) continue;
      checkpoint_.release(*part.tensor);
      if (part.scales != nullptr) checkpoint_.release(*part.scales);
    }
    done_ += file_bytes(w);
    progress_(done_, total_);
    return weight;
  }

  /// Packs a weight as it is in the file, or converted. Only one weight exists unpacked at a time.
  Weight prepare(const BoundWeight& w, std::span<const float> bias, Use use) {
    std::vector<View> views = held_views(w, options_);
    std::vector<std::vector<std::byte>> memory;
    for (std::size_t i = 0; i < views.size(); ++i) {
      const BoundPart& part = w.parts[i];
      PartRows rows = read_part(part);
      if (options_.check_tensors) require_finite(checkpoint_, part, rows.view);
      if (views[i].format == part.format()) {
        views[i] = rows.view;
        memory.push_back(std::move(rows.memory));
        continue;
      }
      memory.push_back(converted_rows(checkpoint_, part, rows.view, views[i].format, pool()));
      views[i].data = memory.back().data();
    }
    return backend_.prepare(views, bias, use);
  }

  ThreadPool& pool() {
    if (options_.pool != nullptr) return *options_.pool;
    if (own_pool_ == nullptr) own_pool_ = std::make_unique<ThreadPool>(1);
    return *own_pool_;
  }

  /// Copies values to the device, as `rows` rows.
  View upload(const std::vector<float>& values, std::int64_t rows) {
    Tensor& t = model_->vectors.emplace_back(backend_.upload(values));
    const std::int64_t cols = std::ssize(values) / rows;
    t.view = {t.view.data, t.view.format, rows, cols, cols * std::int64_t{sizeof(float)}};
    return t.view;
  }

  /// Decodes a vector, and refuses values that are not finite. A selection bias would choose other
  /// experts, and nothing would show it. A sink or a layer's factor would make all rows NaN. NaN in
  /// other tensors fails the rows that it reaches.
  std::vector<float> decode_finite(const TensorInfo& t) const {
    std::vector<float> values = decode_tensor(t);
    refuse_not_finite(checkpoint_, t, 0, values);
    return values;
  }

  /// A vector that must be finite; null if there is none.
  View load_finite(const TensorInfo* t) {
    return t == nullptr ? View{} : upload(decode_finite(*t), 1);
  }

  /// A tensor as floats, as rows of its last dimension; null if there is none.
  View load_table(const TensorInfo* t) {
    if (t == nullptr) return {};
    return upload(decode_checked(*t), t->elements() / row_length(*t));
  }

  /// Stacks the norm's weights. A model whose norms multiply by 1 + weight gets the sum.
  Norm load_norm(const BoundNorm& bound) { return load_norm(bound, bound_.spec.norm_eps); }

  Norm load_norm(const BoundNorm& bound, float eps) {
    if (!bound) return {};
    std::vector<float> weights;
    for (const TensorInfo* t : bound.weights) {
      const std::vector<float> values = decode_checked(*t);
      weights.insert(weights.end(), values.begin(), values.end());
    }
    if (bound_.spec.norm_plus_one) {
      for (float& w : weights) w += 1;
    }
    return {.kind = bound_.spec.norm,
            .eps = eps,
            .weight = upload(weights, bound.rows),
            .bias = bound.bias == nullptr ? View{} : upload(decode_checked(*bound.bias), 1)};
  }

  /// The norm of value heads has no weight, which is as a weight of ones.
  Norm value_norm(const LayerSpec& sizes) {
    if (!bound_.spec.value_norm || sizes.kv_source >= 0) return {};
    return {.kind = NormKind::kRms,
            .eps = bound_.spec.norm_eps,
            .weight = upload(std::vector<float>(to_size(sizes.value_dim), 1.0f), 1),
            .bias = {}};
  }

  std::vector<Weight> load_weights(const std::vector<BoundWeight>& bound, Use use = Use::kPlain) {
    std::vector<Weight> weights;
    weights.reserve(bound.size());
    for (const BoundWeight& w : bound) weights.push_back(load_weight(w, use));
    return weights;
  }

  Norms load_norms(const BoundNorms& b) {
    return {.pre = load_norm(b.pre), .out = load_norm(b.out), .post = load_norm(b.post)};
  }

  Use gated() const { return bound_.spec.gated ? Use::kGated : Use::kPlain; }

  /// The order of the weights is that of `all_weights`.
  void load_layer(std::int64_t i) {
    const BoundLayer& b = at(bound_.layers, i);
    Layer& layer = model_->layers.emplace_back();
    load_attention(i, b, layer);
    layer.ffn_norms = load_norms(b.ffn_norms);
    layer.input_norm = load_norm(b.input_norm);
    layer.selection_bias = load_finite(b.selection_bias);
    if (b.scalar != nullptr) layer.scalar = decode_finite(*b.scalar).front();
    layer.qkv = load_weight(b.qkv);
    layer.q_down = load_weight(b.q_down);
    layer.q_up = load_weight(b.q_up);
    layer.kv_down = load_weight(b.kv_down);
    layer.attn_out = load_weight(b.attn_out);
    layer.gate_up = load_weight(b.gate_up, gated());
    layer.down = load_weight(b.down);
    layer.router = load_weight(b.router);
    layer.shared_gate_up = load_weight(b.shared_gate_up, Use::kGated);
    layer.shared_down = load_weight(b.shared_down);
    layer.shared_router = load_weight(b.shared_router);
    layer.input_gate = load_weight(b.input_gate);
    layer.input_out = load_weight(b.input_out);
    layer.k_up = load_weights(b.k_up);
    layer.v_up = load_weights(b.v_up);
    layer.expert_gate_up = load_weights(b.expert_gate_up, Use::kGated);
    layer.expert_down = load_weights(b.expert_down);
  }

  /// The parameters and norms of an attention, without its matrices.
  void load_attention(std::int64_t i, const BoundLayer& b, Layer& layer) {
    const LayerSpec& sizes = bound_.spec.layer(i);
    layer.attention = attention_of(bound_.spec, i);
    if (sizes.rope >= 0) layer.attention.rope = &at(model_->ropes, sizes.rope).table;
    layer.attention.sinks = load_finite(b.sinks);
    layer.attention.position_bias = position_bias_;
    layer.attn_norms = load_norms(b.attn_norms);
    layer.head_norms = {.q = load_norm(b.q_norm),
                        .k = load_norm(b.k_norm),
                        .v = value_norm(sizes),
                        .after_rope = bound_.spec.norm_after_rope};
    layer.q_down_norm = load_norm(b.q_down_norm, bound_.spec.mla.norm_eps);
    layer.kv_down_norm = load_norm(b.kv_down_norm, bound_.spec.mla.norm_eps);
  }

  void load_ends() {
    if (needs_embedding(bound_, options_)) model_->embedding = load_weight(bound_.embedding);
    if (options_.head) model_->own_head = load_weight(bound_.head);
    model_->has_head = options_.head;
    if (options_.head || options_.final_norm) model_->final_norm = load_norm(bound_.final_norm);
    if (options_.embedding) {
      model_->positions = load_table(bound_.positions);
      model_->types = load_table(bound_.types);
      model_->embedding_norm = load_norm(bound_.embedding_norm);
      model_->layer_projection_norm = load_norm(bound_.layer_projection_norm);
      model_->layer_embedding = load_weight(bound_.layer_embedding);
      model_->layer_projection = load_weight(bound_.layer_projection);
    }
    model_->dense = load_weights(bound_.dense);
  }

  /// Makes the attention biases of relative positions, which all layers share.
  void load_position_bias() {
    if (bound_.relative_bias == nullptr) return;
    const std::int64_t heads = bound_.spec.layer(0).heads;
    position_bias_ = upload(relative_biases(decode_checked(*bound_.relative_bias), heads), heads);
  }

  Checkpoint& checkpoint_;
  const BoundModel& bound_;
  Backend& backend_;
  const ModelOptions& options_;
  Progress progress_;
  std::uint64_t done_ = 0;
  std::uint64_t total_ = 0;
  std::optional<WeightKeeper> keeper_;  ///< absent without a pack cache
  std::size_t loaded_ = 0;              ///< number of weights loaded so far
  View position_bias_{};                ///< see Attention::position_bias
  std::unique_ptr<Model> model_ = std::make_unique<Model>();
  std::unique_ptr<ThreadPool> own_pool_;
};

}  // namespace

std::vector<KvUse> Model::kv_uses() const {
  std::vector<KvUse> all;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::int64_t layer = first_layer + static_cast<std::int64_t>(i);
    all.push_back({layers[i].attention, kv_source_of(spec, layer, first_layer)});
  }
  return all;
}

std::unique_ptr<const Model> load_model(Checkpoint& checkpoint, const BoundModel& bound,
                                        Backend& backend, const ModelOptions& options,
                                        Progress progress) {
  const CanonicalFp canonical;  // for rotary tables
  return Loader(checkpoint, bound, backend, options, progress).load();
}

void require_finite(const Checkpoint& checkpoint, const TensorInfo& tensor) {
  if (!tensor.format || tensor.elements() == 0) return;
  const std::int64_t cols = row_length(tensor);
  const BoundPart all{.tensor = &tensor, .rows = tensor.elements() / cols, .cols = cols};
  require_finite(checkpoint, all, read_part(all).view);
}

std::string rounding_note(const BoundModel& bound, Format wanted) {
  const ModelOptions options{.weights = wanted};
  std::int64_t others = 0;
  for (const BoundWeight* w : all_weights(bound, options)) {
    for (const BoundPart& part : w->parts) {
      const Format held = held_format(*w, part, options);
      others += held != part.format() && held != wanted ? 1 : 0;
    }
  }
  if (others == 0) return {};
  return cat(others, " matrices have rows that do not divide into blocks of ", format_name(wanted),
             " and are rounded to types with more bits");
}

std::int64_t rounding_bytes(const BoundModel& bound, const ModelOptions& options) {
  std::int64_t most = 0;
  for (const BoundWeight* w : all_weights(bound, options)) {
    std::int64_t bytes = 0;
    for (const BoundPart& part : w->parts) {
      const Format held = held_format(*w, part, options);
      bytes += part_memory_bytes(part);
      if (held != part.format()) bytes += part.rows * row_bytes(held, part.cols);
    }
    most = std::max(most, bytes);
  }
  return most;
}

std::int64_t weight_bytes(const BoundModel& bound, const Backend& backend,
                          const ModelOptions& options) {
  std::int64_t bytes = 0;
  for (const BoundWeight* w : all_weights(bound, options)) {
    bytes += backend.prepared_bytes(held_views(*w, options), !w->biases.empty(), use_of(bound, *w));
  }
  if (!options.embedding) return bytes;
  for (const TensorInfo* t : {bound.positions, bound.types}) {
    if (t != nullptr) bytes += t->elements() * std::int64_t{sizeof(float)};
  }
  return bytes;
}

}  // namespace ingot
