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

/// Does what the public require_finite does, for a part of a tensor.
void require_finite(const Checkpoint& checkpoint, const BoundPart& part) {
  const TensorInfo& t = *part.tensor;
  const View view = part.view();
  std::vector<float> row(to_size(part.cols));
  for (std::int64_t r = 0; r < part.rows; ++r) {
    decode_row(view.format, view.row_data(r), part.cols, row.data());
    const auto bad =
        std::find_if(row.begin(), row.end(), [](float v) { return !std::isfinite(v); });
    if (bad == row.end()) continue;
    throw model_error(
        checkpoint.file_of(t), cat("tensor ", printable(t.name)), t.offset,
        cat("row ", part.first_row + r, " holds ", std::isnan(*bad) ? "NaN" : "an infinite value"));
  }
}

/// Rounds a part's rows to another format.
std::vector<std::byte> rounded_rows(const Checkpoint& checkpoint, const BoundPart& part,
                                    Format format, ThreadPool& pool) {
  const View from = part.view();
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
    check_rounding();
    model_->spec = bound_.spec;
    model_->first_layer = options_.first_layer;
    for (const RopeSpec& rope : bound_.spec.ropes) {
      model_->ropes.push_back(make_rope_table(backend_, rope, options_.context));
    }
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
      bytes += static_cast<std::uint64_t>(part.rows * row_bytes(*part.tensor->format, part.cols));
    }
    return bytes;
  }

  void check_parts() const {
    const auto need = [&](bool wanted, bool there, TensorRole role) {
      if (!wanted || there) return;
      throw model_error(checkpoint_.name(), "tensors",
                        cat("tensor ", role_names(role), " is missing: this file is a backbone, ",
                            "which takes embeddings or gives hidden states only"));
    };
    const bool head =
        bound_.spec.tied ? static_cast<bool>(bound_.embedding) : static_cast<bool>(bound_.head);
    need(options_.embedding, static_cast<bool>(bound_.embedding), TensorRole::kEmbedding);
    need(options_.head, head, TensorRole::kHead);
    need(options_.head || options_.final_norm, bound_.final_norm != nullptr,
         TensorRole::kFinalNorm);
  }

  /// Refuses `weights` if no matrix can be rounded: the user expects another file.
  void check_rounding() const {
    if (!options_.weights) return;
    for (const BoundWeight* w : all_weights(bound_, options_)) {
      for (const BoundPart& part : w->parts) {
        if (held_format(*w, part, options_) != *part.tensor->format) return;
      }
    }
    throw Error(ErrorCode::kInvalid,
                cat("`weights`: ", checkpoint_.name(), " has no matrix that can be rounded to ",
                    format_name(*options_.weights), ": none of them stores floats"));
  }

  std::vector<float> decode_checked(const TensorInfo& t) const {
    std::vector<float> values = decode_tensor(t);
    if (options_.check_tensors) require_finite(checkpoint_, BoundPart{&t, 0, 1, t.elements()});
    return values;
  }

  /// Takes the packed weights from the cache, if it has them.
  void find_packed() {
    if (options_.pack_cache.folder.empty()) return;
    std::vector<std::int64_t> bytes;
    for (const BoundWeight* w : all_weights(bound_, options_)) {
      bytes.push_back(backend_.prepared_bytes(held_views(*w, options_), false));
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
    if (options_.check_tensors) {
      for (const BoundPart& part : w.parts) require_finite(checkpoint_, part);
    }
    std::vector<float> bias;
    for (const TensorInfo* t : w.biases) {
      const std::vector<float> values = decode_checked(*t);
      bias.insert(bias.end(), values.begin(), values.end());
    }
    const std::span<const std::span<const std::byte>> kept = model_->packed.weights;
    Weight weight = kept.empty()
                        ? prepare(w, bias, use)
                        : backend_.adopt(held_views(w, options_), bias, kept[loaded_], use);
    ++loaded_;
    for (const BoundPart& part : w.parts) {
      // The memory pages of a stack of experts are released with its last expert.
      const std::int64_t rows = part.tensor->elements() / part.cols;
      if (part.first_row + part.rows == rows) checkpoint_.release(*part.tensor);
    }
    done_ += file_bytes(w);
    progress_(done_, total_);
    return weight;
  }

  /// Packs a weight as it is in the file, or rounded. Only one rounded weight exists at a time.
  Weight prepare(const BoundWeight& w, std::span<const float> bias, Use use) {
    std::vector<View> views = held_views(w, options_);
    std::vector<std::vector<std::byte>> rounded;
    for (std::size_t i = 0; i < views.size(); ++i) {
      const BoundPart& part = w.parts[i];
      if (views[i].format == *part.tensor->format) {
        views[i] = part.view();
        continue;
      }
      rounded.push_back(rounded_rows(checkpoint_, part, views[i].format, pool()));
      views[i].data = rounded.back().data();
    }
    return backend_.prepare(views, bias, use);
  }

  ThreadPool& pool() {
    if (options_.pool != nullptr) return *options_.pool;
    if (own_pool_ == nullptr) own_pool_ = std::make_unique<ThreadPool>(1);
    return *own_pool_;
  }

  Norm load_norm(const TensorInfo* t) {
    if (t == nullptr) return {};
    model_->vectors.push_back(backend_.upload(decode_checked(*t)));
    return {.kind = bound_.spec.norm,
            .eps = bound_.spec.norm_eps,
            .weight = model_->vectors.back().view,
            .bias = {}};
  }

  std::vector<Weight> load_experts(const std::vector<BoundWeight>& experts, Use use) {
    std::vector<Weight> weights;
    weights.reserve(experts.size());
    for (const BoundWeight& w : experts) weights.push_back(load_weight(w, use));
    return weights;
  }

  void load_layer(std::int64_t i) {
    const BoundLayer& b = at(bound_.layers, i);
    Layer& layer = model_->layers.emplace_back();
    layer.attention = attention_of(bound_.spec, i);
    const std::int32_t rope = at(bound_.spec.rope, i);
    if (rope >= 0) layer.attention.rope = &at(model_->ropes, rope).table;
    layer.attn_norms.pre = load_norm(b.attn_norm);
    layer.q_norm = load_norm(b.q_norm);
    layer.k_norm = load_norm(b.k_norm);
    layer.ffn_norms.pre = load_norm(b.ffn_norm);
    layer.qkv = load_weight(b.qkv);
    layer.attn_out = load_weight(b.attn_out);
    layer.gate_up = load_weight(b.gate_up, bound_.spec.gated ? Use::kGated : Use::kPlain);
    layer.down = load_weight(b.down);
    layer.router = load_weight(b.router);
    layer.expert_gate_up = load_experts(b.expert_gate_up, Use::kGated);
    layer.expert_down = load_experts(b.expert_down, Use::kPlain);
  }

  void load_ends() {
    if (needs_embedding(bound_, options_)) model_->embedding = load_weight(bound_.embedding);
    if (options_.head) model_->own_head = load_weight(bound_.head);
    model_->has_head = options_.head;
    if (options_.head || options_.final_norm) model_->final_norm = load_norm(bound_.final_norm);
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
  std::unique_ptr<Model> model_ = std::make_unique<Model>();
  std::unique_ptr<ThreadPool> own_pool_;
};

}  // namespace

std::vector<Attention> Model::attention() const {
  std::vector<Attention> all;
  for (const Layer& layer : layers) all.push_back(layer.attention);
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
  const std::int64_t cols = tensor.shape.empty() ? 1 : tensor.shape.back();
  require_finite(checkpoint, BoundPart{&tensor, 0, tensor.elements() / cols, cols});
}

std::string rounding_note(const BoundModel& bound, Format wanted) {
  const ModelOptions options{.weights = wanted};
  std::int64_t others = 0;
  for (const BoundWeight* w : all_weights(bound, options)) {
    for (const BoundPart& part : w->parts) {
      const Format held = held_format(*w, part, options);
      others += held != *part.tensor->format && held != wanted ? 1 : 0;
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
      if (held != *part.tensor->format) bytes += part.rows * row_bytes(held, part.cols);
    }
    most = std::max(most, bytes);
  }
  return most;
}

std::int64_t weight_bytes(const BoundModel& bound, const Backend& backend,
                          const ModelOptions& options) {
  std::int64_t bytes = 0;
  for (const BoundWeight* w : all_weights(bound, options)) {
    bytes += backend.prepared_bytes(held_views(*w, options), !w->biases.empty());
  }
  return bytes;
}

}  // namespace ingot
