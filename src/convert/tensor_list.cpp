// Maps a model's tensors to GGUF: names, stacks of experts, rotary pairs, frequency divisors.
#include "convert/tensor_list.h"

#include <algorithm>
#include <initializer_list>
#include <set>

#include "base/error.h"
#include "base/fp_env.h"
#include "base/index.h"
#include "base/text.h"
#include "load/architectures.h"
#include "load/gguf/gguf_families.h"
#include "model/rope.h"

namespace ingot {

namespace {

using Parts = std::vector<BoundPart>;
using Shape = std::vector<std::int64_t>;

/// The divisor of a frequency that files of Gemma 4 give to pairs that do not rotate.
constexpr float kStillDivisor = 1e30F;

/// Rows [first, first + count) of a part.
BoundPart slice(BoundPart part, std::int64_t first, std::int64_t count) {
  (part.turned ? part.first_col : part.first_row) += first * part.row_step;
  part.rows = count;
  return part;
}

/// Rows [first, first + count) of parts that stand one below the other.
Parts rows_of(const Parts& parts, std::int64_t first, std::int64_t count) {
  Parts rows;
  for (const BoundPart& part : parts) {
    const std::int64_t begin = std::max<std::int64_t>(first, 0);
    const std::int64_t end = std::min(first + count, part.rows);
    if (begin < end) rows.push_back(slice(part, begin, end - begin));
    first -= part.rows;
  }
  return rows;
}

/// Vectors as rows of one element.
Parts elements_of(const std::vector<BoundVector>& vectors) {
  Parts rows;
  for (const BoundVector& v : vectors) {
    rows.push_back(
        {.tensor = v.tensor, .first_row = v.first, .rows = v.count, .cols = 1, .row_step = v.step});
  }
  return rows;
}

/// A whole tensor of the checkpoint.
BoundPart all_of(const TensorInfo& tensor, std::int64_t first_row = 0) {
  const std::int64_t cols = tensor.shape.empty() ? 1 : tensor.shape.back();
  const std::int64_t rows = cols == 0 ? 0 : tensor.elements() / cols;
  return {.tensor = &tensor, .first_row = first_row, .rows = rows - first_row, .cols = cols};
}

/// The tensors of a GGUF file, which a new file stores as they are.
std::vector<ListedTensor> list_stored(const BoundModel& model) {
  std::vector<ListedTensor> list = list_bound(model);
  std::sort(list.begin(), list.end(), [](const ListedTensor& a, const ListedTensor& b) {
    const TensorInfo& x = *a.source();
    const TensorInfo& y = *b.source();
    return x.file != y.file ? x.file < y.file : x.offset < y.offset;
  });
  return list;
}

/// One of the matrices that stand one below the other in a weight.
struct Piece {
  TensorRole role;
  TensorRole bias;
  std::int64_t rows = 0;
  std::int64_t turned_heads = 0;
};

/// Collects the tensors of a folder by role.
class Lister {
 public:
  Lister(const Checkpoint& checkpoint, const BoundModel& model)
      : checkpoint_(checkpoint),
        config_(checkpoint.config()),
        model_(model),
        family_(find_family(config_.architecture, checkpoint.name())),
        turned_(find_architecture(config_.architecture)->gguf_style == RopeStyle::kAdjacent &&
                !model.spec.ropes.front().adjacent_pairs) {}

  std::vector<ListedTensor> list() {
    if (turned_ && config_.mla.kv_rank > 0) fail("rope_interleave is false");
    add_ends();
    add_rope_factors();
    for (std::size_t i = 0; i < model_.layers.size(); ++i) {
      add_layer(static_cast<std::int64_t>(i), model_.layers[i]);
    }
    add_dense();
    return std::move(list_);
  }

 private:
  using R = TensorRole;

  [[noreturn]] void fail(std::string_view reason) const {
    throw model_error(checkpoint_.name(), "config", cat("GGUF cannot express that ", reason));
  }

  ListedTensor& add(TensorRole role, std::int64_t layer, Shape shape, Parts parts);
  void add_values(TensorRole role, const std::vector<double>& values);
  void add_norm(TensorRole role, std::optional<TensorRole> bias, std::int64_t layer,
                const BoundNorm& norm);
  void add_matrix(TensorRole role, std::int64_t layer, const BoundWeight& weight);
  void add_vector(TensorRole role, std::int64_t layer, const TensorInfo* tensor);
  void add_table(TensorRole role, const TensorInfo* tensor);
  void add_pieces(std::int64_t layer, const BoundWeight& weight, const Piece& whole,
                  std::initializer_list<Piece> pieces);
  void add_experts(std::int64_t layer, const std::vector<BoundWeight>& experts,
                   std::initializer_list<Piece> pieces);
  void add_heads(TensorRole role, std::int64_t layer, const std::vector<BoundWeight>& heads);
  bool is_fused(TensorRole whole, TensorRole first) const;

  void add_ends();
  void add_rope_factors();
  void add_layer(std::int64_t i, const BoundLayer& layer);
  void add_attention(std::int64_t i, const BoundLayer& layer);
  void add_latents(std::int64_t i, const BoundLayer& layer);
  void add_feed_forward(std::int64_t i, const BoundLayer& layer);
  void add_dense();

  const Checkpoint& checkpoint_;
  const Config& config_;
  const BoundModel& model_;
  const Family& family_;
  bool turned_;  ///< whether rotary pairs become adjacent
  std::vector<ListedTensor> list_;
};

ListedTensor& Lister::add(TensorRole role, std::int64_t layer, Shape shape, Parts parts) {
  std::string name = family_.tensor_name(role, Naming::kGguf, layer);
  if (name.empty()) {
    const std::string source = parts.empty() ? "?" : parts.front().tensor->name;
    fail(cat("architecture ", config_.architecture, " has tensor ", printable(source)));
  }
  return list_.emplace_back(ListedTensor{.name = std::move(name),
                                         .role = role,
                                         .layer = layer,
                                         .shape = std::move(shape),
                                         .parts = std::move(parts)});
}

void Lister::add_values(TensorRole role, const std::vector<double>& values) {
  ListedTensor& tensor = add(role, 0, {std::ssize(values)}, {});
  for (const double value : values) tensor.values.push_back(static_cast<float>(value));
}

void Lister::add_norm(TensorRole role, std::optional<TensorRole> bias, std::int64_t layer,
                      const BoundNorm& norm) {
  if (!norm) return;
  Parts parts;
  for (const TensorInfo* weight : norm.weights) parts.push_back(all_of(*weight));
  const std::int64_t cols = parts.front().cols;
  ListedTensor& tensor =
      add(role, layer, norm.rows == 1 ? Shape{cols} : Shape{norm.rows, cols}, std::move(parts));
  tensor.plus_one = model_.spec.norm_plus_one;
  if (norm.bias != nullptr && !bias) {
    fail(cat("architecture ", config_.architecture, " has tensor ", printable(norm.bias->name)));
  }
  if (bias) add_vector(*bias, layer, norm.bias);
}

void Lister::add_matrix(TensorRole role, std::int64_t layer, const BoundWeight& weight) {
  if (!weight) return;
  const BoundPart& part = weight.parts.front();
  add(role, layer, {part.rows, part.cols}, weight.parts);
}

/// Adds a vector with one dimension; sources may have others of 1 in front of it.
void Lister::add_vector(TensorRole role, std::int64_t layer, const TensorInfo* tensor) {
  if (tensor == nullptr) return;
  std::int64_t size = 1;
  for (const std::int64_t extent : tensor->shape) size *= extent;
  add(role, layer, {size}, {all_of(*tensor)});
}

void Lister::add_table(TensorRole role, const TensorInfo* tensor) {
  if (tensor == nullptr) return;
  const Parts parts{all_of(*tensor)};
  add(role, 0, {parts.front().rows, parts.front().cols}, parts);
}

/// Whether GGUF files of the architecture have matrices fused, of which `first` is the first.
bool Lister::is_fused(TensorRole whole, TensorRole first) const {
  const RoleRule* rule = family_.rule_of(whole);
  if (rule == nullptr || family_.tensor_name(whole, Naming::kGguf).empty()) return false;
  return rule->presence == Presence::kRequired || family_.rule_of(first) == nullptr;
}

/// Adds a weight as one tensor, or each of its pieces as a tensor; with their biases.
void Lister::add_pieces(std::int64_t layer, const BoundWeight& weight, const Piece& whole,
                        std::initializer_list<Piece> pieces) {
  if (!weight) return;
  const bool fused = is_fused(whole.role, pieces.begin()->role);
  const std::vector<Piece> stored = fused ? std::vector<Piece>{whole} : std::vector<Piece>(pieces);
  const Parts biases = elements_of(weight.biases);
  std::int64_t first = 0;
  for (const Piece& piece : stored) {
    if (piece.rows == 0) continue;
    add(piece.role, layer, {piece.rows, weight.parts.front().cols},
        rows_of(weight.parts, first, piece.rows))
        .turned_heads = piece.turned_heads;
    if (!biases.empty()) {
      add(piece.bias, layer, {piece.rows}, rows_of(biases, first, piece.rows)).turned_heads =
          piece.turned_heads;
    }
    first += piece.rows;
  }
}

/// Stacks each piece of all experts' weights, and its biases.
void Lister::add_experts(std::int64_t layer, const std::vector<BoundWeight>& experts,
                         std::initializer_list<Piece> pieces) {
  if (experts.empty()) return;
  const std::int64_t cols = experts.front().parts.front().cols;
  std::int64_t first = 0;
  for (const Piece& piece : pieces) {
    Parts rows, biases;
    for (const BoundWeight& expert : experts) {
      for (const BoundPart& part : rows_of(expert.parts, first, piece.rows)) rows.push_back(part);
      const Parts elements = rows_of(elements_of(expert.biases), first, piece.rows);
      biases.insert(biases.end(), elements.begin(), elements.end());
    }
    add(piece.role, layer, {std::ssize(experts), piece.rows, cols}, std::move(rows));
    if (!biases.empty()) {
      add(piece.bias, layer, {std::ssize(experts), piece.rows}, std::move(biases));
    }
    first += piece.rows;
  }
}

/// Stacks the matrices of all heads.
void Lister::add_heads(TensorRole role, std::int64_t layer, const std::vector<BoundWeight>& heads) {
  Parts rows;
  for (const BoundWeight& head : heads) rows.push_back(head.parts.front());
  const BoundPart& one = heads.front().parts.front();
  add(role, layer, {std::ssize(heads), one.rows, one.cols}, std::move(rows));
}

void Lister::add_ends() {
  add_matrix(R::kEmbedding, 0, model_.embedding);
  if (model_.positions != nullptr) {
    // GGUF files have no rows before the first position.
    const BoundPart rows = all_of(*model_.positions, model_.spec.position_offset);
    add(R::kPositions, 0, {rows.rows, rows.cols}, {rows});
  }
  add_table(R::kTypes, model_.types);
  add_norm(R::kEmbeddingNorm, R::kEmbeddingNormBias, 0, model_.embedding_norm);
  add_table(R::kRelativeBias, model_.relative_bias);
  add_matrix(R::kLayerEmbedding, 0, model_.layer_embedding);
  add_matrix(R::kLayerProjection, 0, model_.layer_projection);
  add_norm(R::kLayerProjectionNorm, std::nullopt, 0, model_.layer_projection_norm);
  add_matrix(R::kHead, 0, model_.head);
  add_norm(R::kFinalNorm, R::kFinalNormBias, 0, model_.final_norm);
}

/// Divisors of rotary frequencies: of llama3 scaling, of pairs that do not rotate, and of longrope.
void Lister::add_rope_factors() {
  const RopeScaling& scaling = config_.ropes.front().scaling;
  if (scaling.kind == RopeScaling::Kind::kLongrope) {
    add_values(R::kLongFactors, scaling.long_factors);
    add_values(R::kShortFactors, scaling.short_factors);
    return;
  }
  if (scaling.kind != RopeScaling::Kind::kLlama3 &&
      scaling.kind != RopeScaling::Kind::kProportional) {
    return;
  }
  RopeConfig unscaled = config_.ropes.front();
  unscaled.scaling = {};
  const CanonicalFp canonical;
  std::vector<double> divisors = rope_spec(unscaled).inverse_frequency;
  const std::vector<double>& scaled = model_.spec.ropes.front().inverse_frequency;
  for (std::size_t i = 0; i < divisors.size(); ++i) {
    divisors[i] = scaled[i] == 0 ? static_cast<double>(kStillDivisor) : divisors[i] / scaled[i];
  }
  add_values(R::kRopeFreqs, divisors);
}

void Lister::add_layer(std::int64_t i, const BoundLayer& layer) {
  add_norm(R::kAttnNorm, R::kAttnNormBias, i, layer.attn_norms.pre);
  add_attention(i, layer);
  add_norm(R::kAttnOutNorm, std::nullopt, i, layer.attn_norms.out);
  add_norm(R::kAttnPostNorm, R::kAttnPostNormBias, i, layer.attn_norms.post);
  add_norm(R::kFfnNorm, R::kFfnNormBias, i, layer.ffn_norms.pre);
  add_feed_forward(i, layer);
  add_norm(R::kFfnOutNorm, std::nullopt, i, layer.ffn_norms.out);
  add_norm(R::kFfnPostNorm, R::kFfnPostNormBias, i, layer.ffn_norms.post);
  add_matrix(R::kLayerInputGate, i, layer.input_gate);
  add_matrix(R::kLayerInputOut, i, layer.input_out);
  add_norm(R::kLayerInputNorm, std::nullopt, i, layer.input_norm);
  add_vector(R::kLayerScalar, i, layer.scalar);
}

void Lister::add_attention(std::int64_t i, const BoundLayer& layer) {
  const LayerSpec& s = model_.spec.layer(i);
  if (layer.kv_down) {
    add_latents(i, layer);
  } else {
    const bool own = s.kv_source < 0;
    const std::int64_t k = own ? s.k_cols() : 0;
    const std::int64_t v = own && !s.values_from_keys ? s.v_cols() : 0;
    add_pieces(i, layer.qkv, {R::kQkv, R::kQkvBias, s.q_cols() + k + v},
               {{R::kQ, R::kQBias, s.q_cols(), turned_ ? s.heads : 0},
                {R::kK, R::kKBias, k, turned_ ? s.kv_heads : 0},
                {R::kV, R::kVBias, v}});
  }
  const auto norm_role = [&](TensorRole head, TensorRole wide, const BoundNorm& norm) {
    if (norm.rows > 1) return head == R::kQNorm ? R::kQNormEach : R::kKNormEach;
    return family_.rule_of(head) != nullptr ? head : wide;
  };
  add_norm(norm_role(R::kQNorm, R::kQNormWide, layer.q_norm), std::nullopt, i, layer.q_norm);
  add_norm(norm_role(R::kKNorm, R::kKNormWide, layer.k_norm), std::nullopt, i, layer.k_norm);
  add_vector(R::kSinks, i, layer.sinks);
  const Piece out{R::kAttnOut, R::kAttnOutBias, model_.spec.hidden};
  add_pieces(i, layer.attn_out, out, {out});
}

void Lister::add_latents(std::int64_t i, const BoundLayer& layer) {
  add_matrix(R::kQDown, i, layer.q_down);
  add_norm(R::kQDownNorm, std::nullopt, i, layer.q_down_norm);
  add_matrix(layer.q_down ? R::kQUp : R::kQ, i, layer.q_up);
  add_matrix(R::kKvDown, i, layer.kv_down);
  add_norm(R::kKvDownNorm, std::nullopt, i, layer.kv_down_norm);
  add_heads(R::kKUp, i, layer.k_up);
  add_heads(R::kVUp, i, layer.v_up);
}

void Lister::add_feed_forward(std::int64_t i, const BoundLayer& layer) {
  const std::int64_t hidden = model_.spec.hidden;
  const std::int64_t ffn = model_.spec.layer(i).ffn;
  const Piece up{R::kUp, R::kUpBias, ffn};
  if (model_.spec.gated) {
    add_pieces(i, layer.gate_up, {R::kGateUp, R::kGateUpBias, 2 * ffn},
               {{R::kGate, R::kGateBias, ffn}, up});
  } else {
    add_pieces(i, layer.gate_up, up, {up});
  }
  const Piece down{R::kDown, R::kDownBias, hidden};
  add_pieces(i, layer.down, down, {down});
  const Piece router{R::kRouter, R::kRouterBias, model_.spec.moe.experts};
  add_pieces(i, layer.router, router, {router});
  add_vector(R::kSelectionBias, i, layer.selection_bias);
  add_experts(i, layer.expert_gate_up,
              {{R::kExpertGate, R::kExpertGateBias, model_.spec.moe.ffn},
               {R::kExpertUp, R::kExpertUpBias, model_.spec.moe.ffn}});
  add_experts(i, layer.expert_down, {{R::kExpertDown, R::kExpertDownBias, hidden}});
  const std::int64_t shared = model_.spec.shared_ffn;
  add_pieces(i, layer.shared_gate_up, {R::kSharedGateUp, R::kSharedGateUp, 2 * shared},
             {{R::kSharedGate, R::kSharedGate, shared}, {R::kSharedUp, R::kSharedUp, shared}});
  add_matrix(R::kSharedDown, i, layer.shared_down);
  add_matrix(R::kSharedRouter, i, layer.shared_router);
}

void Lister::add_dense() {
  const std::vector<std::string> names = dense_names(config_, model_.dense.size());
  if (names.size() != model_.dense.size()) {
    fail(cat(model_.dense.size(), " dense layers follow pooling in architecture ",
             config_.architecture));
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    const BoundWeight& weight = model_.dense[i];
    const auto add_named = [&](std::string_view end, Shape shape, Parts parts) {
      list_.push_back({.name = names[i] + std::string(end),
                       .role = R::kRoles,
                       .shape = std::move(shape),
                       .parts = std::move(parts)});
    };
    const DenseSpec& sizes = model_.spec.dense[i];
    add_named(".weight", {sizes.outputs, sizes.inputs}, weight.parts);
    if (!weight.biases.empty()) add_named(".bias", {sizes.outputs}, elements_of(weight.biases));
  }
}

}  // namespace

std::int64_t ListedTensor::rows() const {
  std::int64_t elements = 1;
  for (const std::int64_t size : shape) elements *= size;
  return elements / cols();
}

std::int64_t ListedTensor::rows_per_expert() const { return shape.size() == 3 ? shape[1] : rows(); }

BoundPart source_row(const ListedTensor& tensor, std::int64_t row) {
  if (tensor.turned_heads > 0) {
    // Row 2i + j of a head is row i of its half j.
    const std::int64_t size = tensor.rows() / tensor.turned_heads;
    const std::int64_t in_head = row % size;
    row += in_head % 2 * (size / 2) + in_head / 2 - in_head;
  }
  std::size_t part = 0;
  for (; row >= tensor.parts[part].rows; ++part) row -= tensor.parts[part].rows;
  return slice(tensor.parts[part], row, 1);
}

std::vector<ListedTensor> list_bound(const BoundModel& model) {
  std::vector<ListedTensor> list;
  for (const BoundTensor& t : model.tensors) {
    list.push_back({.name = t.tensor->name,
                    .role = t.role,
                    .layer = t.layer,
                    .shape = t.tensor->shape,
                    .parts = {all_of(*t.tensor)}});
  }
  return list;
}

std::vector<ListedTensor> list_tensors(const Checkpoint& checkpoint, const BoundModel& model) {
  if (checkpoint.config().naming == Naming::kGguf) return list_stored(model);
  return Lister(checkpoint, model).list();
}

std::vector<std::string> dense_names(const Config& config, std::size_t count) {
  const GgufFamily& family = gguf_family(config.architecture);
  if (config.labels > 0) {
    if (!family.classifier || count == 0 || count > 2) return {};
    return count == 1 ? std::vector<std::string>{"cls.output"}
                      : std::vector<std::string>{"cls", "cls.output"};
  }
  if (!family.dense_modules || count > 2) return {};
  std::vector<std::string> names{"dense_2", "dense_3"};
  names.resize(count);
  return names;
}

std::vector<const TensorInfo*> left_out(const Checkpoint& checkpoint,
                                        const std::vector<ListedTensor>& listed) {
  std::set<const TensorInfo*> used;
  for (const ListedTensor& tensor : listed) {
    for (const BoundPart& part : tensor.parts) {
      used.insert(part.tensor);
      used.insert(part.scales);
    }
  }
  std::vector<const TensorInfo*> rest;
  for (const TensorInfo& tensor : checkpoint.tensors()) {
    if (used.count(&tensor) == 0) rest.push_back(&tensor);
  }
  return rest;
}

}  // namespace ingot
