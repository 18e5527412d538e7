// bind_model: the tensors outside of layers, and checks of the whole checkpoint.
#include "model/bind.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/fp_env.h"
#include "base/index.h"
#include "base/text.h"
#include "model/bind_layer.h"
#include "model/make_spec.h"
#include "model/rope.h"
#include "model/tensor_finder.h"
#include "quant/formats.h"

namespace ingot {

namespace {

using R = TensorRole;

/// The most elements of a table that is decoded to floats: positions, types.
constexpr std::int64_t kTableElementsMax = std::int64_t{1} << 31;

/// Bytes that a matrix of an expert or a head takes beside its weights. The smallest take 480 bytes
/// and a microsecond (131,072 of one row each: 63 MB, 0.13 s); the rest allows for a panel of 16
/// outputs that the rows do not fill. All together may take 1/5 of the file and kOverheadBytes.
/// With a smaller number, small files would take gigabytes and minutes.
constexpr std::int64_t kMatrixBytes = 4096;
constexpr std::int64_t kOverheadBytes = std::int64_t{512} << 20;

class Binder {
 public:
  Binder(const Checkpoint& checkpoint, std::int64_t context, TensorPlanner* planner)
      : checkpoint_(checkpoint),
        config_(checkpoint.config()),
        finder_(checkpoint, config_, planner),
        context_(context) {}

  BoundModel bind() {
    bind_longrope();
    model_.spec = make_spec(config_, context_);
    check_features();
    check_matrices();
    bind_rope_freqs();
    check_frequencies();
    bind_ends();
    bind_embeddings();
    bind_layer_inputs();
    bind_dense();
    for (std::int64_t i = 0; i < model_.spec.layers; ++i) {
      model_.layers.push_back(bind_layer(finder_, config_, model_.spec, i));
    }
    if (std::string note = finder_.check_left_over(); !note.empty()) {
      model_.notes.push_back(std::move(note));
    }
    check_tokenizer();
    model_.tensors = finder_.take_used();
    return std::move(model_);
  }

 private:
  [[noreturn]] void fail_config(std::string_view reason) const {
    throw model_error(checkpoint_.name(), "config", reason);
  }

  void bind_longrope();
  void check_features() const;
  void check_matrices() const;
  void check_sources() const;
  void bind_ends();
  void bind_tie(const TensorInfo* embedding, const TensorInfo* head);
  void bind_rope_freqs();
  void check_frequencies() const;
  void bind_embeddings();
  void bind_layer_inputs();
  void bind_dense();
  void bind_label_tokens();
  void check_tokenizer() const;

  const Checkpoint& checkpoint_;
  Config config_;  ///< with the factors of longrope that GGUF stores as tensors
  TensorFinder finder_;
  std::int64_t context_;
  BoundModel model_;
};

/// GGUF stores longrope's factors as tensors.
void Binder::bind_longrope() {
  for (RopeConfig& rope : config_.ropes) {
    RopeScaling& s = rope.scaling;
    if (s.kind != RopeScaling::Kind::kLongrope) continue;
    for (const auto& [role, factors] :
         {std::pair{R::kShortFactors, &s.short_factors}, {R::kLongFactors, &s.long_factors}}) {
      if (!factors->empty()) continue;
      const TensorInfo* t = finder_.take(role, {rope.dims / 2});
      if (t == nullptr) finder_.fail_missing(role, 0, 0);
      for (const float factor : decode_tensor(*t)) {
        if (!(factor > 0) || factor > 1e12f) {
          finder_.fail(*t, cat("rotary factor ", factor, " is not usable"));
        }
        factors->push_back(static_cast<double>(factor));
      }
    }
    if (context_ == 0 && static_cast<double>(config_.context) > s.original_context) {
      model_.notes.push_back(cat("the context is ", static_cast<std::int64_t>(s.original_context),
                                 " tokens; a larger `context`, up to ", config_.context,
                                 ", chooses the model's rotary factors for long texts"));
    }
  }
}

/// Refuses what the configuration states and the family has no tensors for.
void Binder::check_features() const {
  const Family& family = finder_.family();
  const auto need = [&](bool stated, TensorRole role, std::string_view what) {
    if (!stated || family.rule_of(role) != nullptr) return;
    fail_config(cat("architecture ", config_.architecture, " with ", what, " is not supported"));
  };
  const Spec& s = model_.spec;
  need(s.moe.experts != 0, R::kRouter, cat(s.moe.experts, " experts"));
  need(s.shared_ffn != 0, R::kSharedDown, "shared experts");
  need(s.mla.kv_rank != 0, R::kKvDown, cat("a latent of ", s.mla.kv_rank, " for keys and values"));
  need(s.mla.kv_rank == 0 && family.rule_of(R::kKvDown) != nullptr, R::kK,
       "no latent for keys and values");
  need(s.layer_input != 0, R::kLayerInputGate, "per-layer inputs");
  need(s.relative_buckets != 0, R::kRelativeBias, "relative positions");
  if (s.relative_buckets % 4 != 0 || s.relative_buckets > 256) {
    fail_config(cat("relative positions have ", s.relative_buckets,
                    " buckets, expected a multiple of 4 up to 256"));
  }
  check_sources();
}

/// Bounds the matrices of experts and heads by the size of the file, before there is an object for
/// each. Tensors hold any number of them, so a small file can state millions.
void Binder::check_matrices() const {
  const Spec& s = model_.spec;
  std::int64_t matrices = 0;
  for (const LayerSpec& layer : s.layer_specs) {
    if (layer.sparse) matrices += 2 * std::int64_t{s.moe.experts};
    if (s.mla.kv_rank > 0) matrices += 2 * std::int64_t{layer.heads};
  }
  std::uint64_t bytes = 0;
  for (const TensorInfo& t : checkpoint_.tensors()) bytes += t.bytes;
  const std::int64_t room = static_cast<std::int64_t>(bytes / 5) + kOverheadBytes;
  if (matrices <= room / kMatrixBytes) return;
  fail_config(cat(s.layers, " layers have ", matrices, " matrices of experts and heads, the limit ",
                  "for tensors of ", bytes, " bytes is ", room / kMatrixBytes));
}

/// A layer that reads another layer's keys and values sees the same keys as that layer.
void Binder::check_sources() const {
  const Spec& s = model_.spec;
  for (std::int64_t i = 0; i < s.layers; ++i) {
    const std::int32_t source = s.layer(i).kv_source;
    if (source < 0) continue;
    const bool earlier = source < i && s.layer(source).kv_source < 0;
    const auto same = [](const LayerSpec& a, const LayerSpec& b) {
      return a.kv_heads == b.kv_heads && a.head_dim == b.head_dim && a.window == b.window;
    };
    if (earlier && same(s.layer(i), s.layer(source))) continue;
    fail_config(cat("layer ", i, " cannot read the keys and values of layer ", source));
  }
}

void Binder::bind_ends() {
  Spec& s = model_.spec;
  const TensorInfo* embedding = finder_.find(R::kEmbedding, 0, 0);
  const TensorInfo* head = finder_.find(R::kHead, 0, 0);
  const TensorInfo* ends = embedding != nullptr ? embedding : head;
  if (ends != nullptr && !ends->shape.empty()) s.vocab = ends->shape.front();
  if (ends != nullptr && config_.vocab != 0 && s.vocab != config_.vocab) {
    finder_.fail(
        *ends, cat("it has ", s.vocab, " rows, the configuration says vocabulary ", config_.vocab));
  }
  bind_tie(embedding, head);
  model_.embedding = finder_.take_matrix(R::kEmbedding, s.vocab, s.hidden);
  if (!s.tied) model_.head = finder_.take_matrix(R::kHead, s.vocab, s.hidden);
  model_.final_norm = finder_.take_norm(R::kFinalNorm, R::kFinalNormBias, s.hidden);
}

/// Decides whether the head is the embedding. A stored copy of a tied head must have equal bytes.
void Binder::bind_tie(const TensorInfo* embedding, const TensorInfo* head) {
  Spec& s = model_.spec;
  const bool can_tie = embedding != nullptr && finder_.family().rule_of(R::kHead) != nullptr;
  s.tied = config_.tied.value_or(head == nullptr) && can_tie;
  if (!s.tied || head == nullptr) return;
  if (head->shape != embedding->shape) {
    finder_.fail(
        *head, cat("shape is ", to_string(head->shape), ", but the head is tied to the embedding ",
                   to_string(embedding->shape)));
  }
  const bool same = head->type_name == embedding->type_name && head->bytes == embedding->bytes &&
                    std::memcmp(head->data, embedding->data, head->bytes) == 0;
  if (!same) {
    finder_.fail(*head, "the configuration ties the head to the embedding, but they differ");
  }
  finder_.leave_out(R::kHead, 0, "");
}

void Binder::bind_rope_freqs() {
  RopeSpec& rope = model_.spec.ropes.front();
  const TensorInfo* t = finder_.take(R::kRopeFreqs, {rope.dims / 2});
  if (t == nullptr) return;
  if (config_.ropes.front().scaling.kind != RopeScaling::Kind::kNone) {
    finder_.fail(*t, "frequency factors together with another rotary scaling are not supported");
  }
  const std::vector<float> divisors = decode_tensor(*t);
  constexpr float kDivisorMax = 1e30F;  // Gemma 4's files: a pair that does not rotate
  for (const float d : divisors) {
    if (!(d > 0) || d > kDivisorMax)
      finder_.fail(*t, cat("frequency factor ", d, " is not usable"));
  }
  divide_frequencies(rope, divisors);
}

/// Keeps angles in the range where sine and cosine are accurate, for any context length. Pairs with
/// the frequency 0 do not rotate.
void Binder::check_frequencies() const {
  constexpr double kFrequencyMax = 8;
  for (std::size_t i = 0; i < model_.spec.ropes.size(); ++i) {
    const RopeScaling::Kind kind = config_.ropes[i].scaling.kind;
    const bool may_stop = kind == RopeScaling::Kind::kProportional;
    for (const double f : model_.spec.ropes[i].inverse_frequency) {
      if ((f > 0 || (may_stop && f == 0)) && f <= kFrequencyMax) continue;
      fail_config(cat("a rotary frequency is ", f, " radians a token after scaling, expected ",
                      "more than 0 and at most ", kFrequencyMax));
    }
  }
}

/// Binds what encoders add to token embeddings, and the norm that follows.
void Binder::bind_embeddings() {
  const Spec& s = model_.spec;
  const std::int64_t positions = config_.context + s.position_offset;
  model_.positions = finder_.take(R::kPositions, {positions, s.hidden});
  const TensorInfo* types = finder_.find(R::kTypes, 0, 0);
  const bool has_rows = types != nullptr && types->shape.size() == 2;
  const std::int64_t rows = has_rows ? std::max<std::int64_t>(1, types->shape.front()) : 1;
  model_.types =
      finder_.take(R::kTypes, {config_.token_types > 0 ? config_.token_types : rows, s.hidden});
  for (const TensorInfo* t : {model_.positions, model_.types}) {
    if (t != nullptr && t->elements() > kTableElementsMax) {
      finder_.fail(*t,
                   cat("it has ", t->elements(), " elements, the limit is ", kTableElementsMax));
    }
  }
  model_.embedding_norm = finder_.take_norm(R::kEmbeddingNorm, R::kEmbeddingNormBias, s.hidden);
  if (s.relative_buckets > 0) {
    model_.relative_bias = finder_.take(R::kRelativeBias, {s.relative_buckets, s.layer(0).heads});
  }
}

/// Binds what makes each layer's own input from token ids and embeddings.
void Binder::bind_layer_inputs() {
  const Spec& s = model_.spec;
  if (s.layer_input == 0) return;
  const std::int64_t cols = s.layers * s.layer_input;
  model_.layer_embedding = finder_.take_matrix(R::kLayerEmbedding, s.vocab, cols);
  model_.layer_projection = finder_.take_matrix(R::kLayerProjection, cols, s.hidden);
  model_.layer_projection_norm =
      finder_.take_norm(R::kLayerProjectionNorm, std::nullopt, s.layer_input);
}

/// Binds the layers after pooling, whose tensors the configuration names.
void Binder::bind_dense() {
  for (const DenseLayer& d : config_.dense) {
    BoundWeight w;
    w.parts.push_back({.tensor = finder_.take_named(d.weight, {d.outputs, d.inputs}),
                       .rows = d.outputs,
                       .cols = d.inputs});
    if (!d.bias.empty()) {
      w.biases.push_back({.tensor = finder_.take_named(d.bias, {d.outputs}), .count = d.outputs});
    }
    model_.dense.push_back(std::move(w));
  }
  if (!config_.label_tokens.empty()) bind_label_tokens();
  std::int64_t cols = model_.spec.hidden;
  for (const DenseSpec& d : model_.spec.dense) {
    if (d.inputs != cols) {
      fail_config(cat("a dense layer after pooling reads ", d.inputs, " values, expected ", cols));
    }
    cols = d.outputs;
  }
  if (model_.spec.labels > 0 && (model_.spec.dense.empty() || cols != model_.spec.labels)) {
    fail_config(cat("architecture ", config_.architecture, " with ", model_.spec.labels,
                    " labels is not supported"));
  }
}

/// The head of a reranker that is a decoder: rows of the output head.
void Binder::bind_label_tokens() {
  Spec& s = model_.spec;
  const BoundWeight& head = s.tied ? model_.embedding : model_.head;
  if (head.parts.size() != 1) fail_config("a reranker by tokens needs an output head");
  BoundWeight w;
  for (const std::int32_t id : config_.label_tokens) {
    if (id >= s.vocab) fail_config(cat("the label token ", id, " is not one of ", s.vocab));
    BoundPart row = head.parts.front();
    row.first_row = id;
    row.rows = 1;
    w.parts.push_back(row);
  }
  s.dense.push_back({.inputs = s.hidden,
                     .outputs = std::ssize(w.parts),
                     .tanh = false,
                     .scale = s.logit_scale,
                     .cap = s.logit_cap});
  model_.dense.push_back(std::move(w));
}

void Binder::check_tokenizer() const {
  const TokenizerData* tokenizer = checkpoint_.tokenizer();
  const std::int64_t vocab = model_.spec.vocab;
  if (tokenizer == nullptr || vocab == 0) return;
  // Fewer tokens are fine: embedding matrices are often padded, and ids past the tokenizer's size
  // are never sampled.
  if (static_cast<std::int64_t>(tokenizer->tokens.size()) > vocab) {
    throw model_error(checkpoint_.name(), "tokenizer",
                      cat(tokenizer->tokens.size(), " tokens, but the model has ", vocab));
  }
}

}  // namespace

BoundModel bind_model(const Checkpoint& checkpoint, std::int64_t context, TensorPlanner* planner) {
  const CanonicalFp canonical;  // frequencies are computed here
  return Binder(checkpoint, context, planner).bind();
}

std::vector<float> decode_tensor(const TensorInfo& tensor) {
  std::vector<float> values(to_size(tensor.elements()));
  const std::int64_t cols = tensor.shape.empty() ? 1 : tensor.shape.back();
  const std::int64_t stride = row_bytes(*tensor.format, cols);
  for (std::int64_t r = 0; r < std::ssize(values) / cols; ++r) {
    decode_row(*tensor.format, tensor.data + r * stride, cols, values.data() + r * cols);
  }
  return values;
}

std::vector<float> decode_vector(const BoundVector& vector) {
  const TensorInfo& t = *vector.tensor;
  const FormatInfo& info = format_info(*t.format);
  // Rows are whole blocks, so a tensor is one series of blocks. Only those of the vector are read.
  const std::int64_t first = vector.first / info.block;
  const std::int64_t last = (vector.first + (vector.count - 1) * vector.step) / info.block;
  std::vector<float> all(to_size((last - first + 1) * info.block));
  decode_row(*t.format, t.data + first * info.block_bytes, std::ssize(all), all.data());
  std::vector<float> values;
  for (std::int64_t i = 0; i < vector.count; ++i) {
    values.push_back(at(all, vector.first - first * info.block + i * vector.step));
  }
  return values;
}

}  // namespace ingot
