// bind_layer: the attention of a layer, and which of the known layouts its tensors have.
#include "model/bind_layer.h"

#include "base/text.h"
#include "model/bind_experts.h"

namespace ingot {

namespace {

using R = TensorRole;

/// Binds one layer; keeps what its steps share.
class LayerBinder {
 public:
  LayerBinder(TensorFinder& finder, const Config& config, const Spec& spec, std::int64_t layer)
      : finder_(finder), config_(config), spec_(spec), i_(layer), sizes_(spec.layer(layer)) {}

  BoundLayer bind() {
    bind_norms();
    if (spec_.mla.kv_rank > 0) {
      bind_latents();
    } else {
      bind_qkv();
      bind_head_norms();
    }
    layer_.sinks = finder_.take(R::kSinks, {sizes_.heads}, i_);
    const std::int64_t mixed = spec_.mla.kv_rank > 0
                                   ? std::int64_t{sizes_.heads} * spec_.mla.value
                                   : std::int64_t{sizes_.heads} * sizes_.value_dim;
    layer_.attn_out =
        finder_.take_weight({{R::kAttnOut, spec_.hidden, R::kAttnOutBias}}, mixed, i_);
    if (sizes_.sparse) {
      bind_experts(finder_, spec_, i_, layer_);
    } else {
      bind_dense();
    }
    bind_layer_input();
    check_complete();
    check_biases();
    return std::move(layer_);
  }

 private:
  BoundNorm norm(TensorRole role, std::optional<TensorRole> bias = std::nullopt) {
    return finder_.take_norm(role, bias, spec_.hidden, i_);
  }

  void bind_norms();
  void bind_qkv();
  void bind_head_norms();
  void bind_latents();
  void bind_latent_heads();
  void bind_dense();
  void bind_layer_input();
  void check_complete() const;
  void check_biases() const;

  TensorFinder& finder_;
  const Config& config_;
  const Spec& spec_;
  std::int64_t i_;
  const LayerSpec& sizes_;
  BoundLayer layer_;
};

void LayerBinder::bind_norms() {
  layer_.attn_norms = {.pre = norm(R::kAttnNorm, R::kAttnNormBias),
                       .out = norm(R::kAttnOutNorm),
                       .post = norm(R::kAttnPostNorm, R::kAttnPostNormBias)};
  // With a parallel residual, the feed-forward layer reads the attention's input.
  if (!spec_.parallel_residual) layer_.ffn_norms.pre = norm(R::kFfnNorm, R::kFfnNormBias);
  layer_.ffn_norms.out = norm(R::kFfnOutNorm);
  layer_.ffn_norms.post = norm(R::kFfnPostNorm, R::kFfnPostNormBias);
}

void LayerBinder::bind_qkv() {
  const std::int64_t q = sizes_.q_cols(), k = sizes_.k_cols(), v = sizes_.v_cols();
  const std::int64_t h = spec_.hidden;
  if (sizes_.kv_source >= 0) {
    layer_.qkv = finder_.take_weight({{R::kQ, q, R::kQBias}}, h, i_);
    for (const TensorRole role : {R::kK, R::kV, R::kKBias, R::kVBias, R::kKNorm}) {
      finder_.leave_out(role, i_, "projections of layers that read the keys of other layers");
    }
  } else if (finder_.has(R::kQkv, i_) || finder_.family().rule_of(R::kQ) == nullptr) {
    layer_.qkv = finder_.take_weight({{R::kQkv, q + k + v, R::kQkvBias}}, h, i_);
  } else if (sizes_.values_from_keys) {
    layer_.qkv = finder_.take_weight(
        {{R::kQ, q, R::kQBias}, {R::kK, k, R::kKBias}, {R::kK, k, R::kKBias}}, h, i_);
  } else {
    layer_.qkv = finder_.take_weight(
        {{R::kQ, q, R::kQBias}, {R::kK, k, R::kKBias}, {R::kV, v, R::kVBias}}, h, i_);
  }
}

/// Query and key norms come in three widths; a family has the roles of one of them.
void LayerBinder::bind_head_norms() {
  const std::int64_t d = sizes_.head_dim;
  const bool own_keys = sizes_.kv_source < 0;
  const auto bind = [&](TensorRole head, TensorRole wide, TensorRole each, std::int64_t heads) {
    BoundNorm norm = finder_.take_norm(head, std::nullopt, d, i_);
    if (!norm) norm = finder_.take_norm(wide, std::nullopt, heads * d, i_);
    if (!norm) norm = finder_.take_norm_rows(each, heads, d, i_);
    return norm;
  };
  layer_.q_norm = bind(R::kQNorm, R::kQNormWide, R::kQNormEach, sizes_.heads);
  if (own_keys) layer_.k_norm = bind(R::kKNorm, R::kKNormWide, R::kKNormEach, sizes_.kv_heads);
  const bool has_q = static_cast<bool>(layer_.q_norm);
  if (config_.qk_norm == false && has_q) {
    finder_.fail(*layer_.q_norm.weights.front(),
                 "the configuration says that queries and keys have no norms");
  }
  const bool lacks_both = config_.qk_norm == true && !has_q;
  const bool lacks_one = own_keys && has_q != static_cast<bool>(layer_.k_norm);
  if (!lacks_both && !lacks_one) return;
  for (const auto& [q, k] : {std::pair{R::kQNorm, R::kKNorm},
                             {R::kQNormWide, R::kKNormWide},
                             {R::kQNormEach, R::kKNormEach}}) {
    if (finder_.family().rule_of(q) != nullptr) finder_.fail_missing(has_q ? k : q, i_, 0);
  }
}

void LayerBinder::bind_latents() {
  const MlaSpec& m = spec_.mla;
  const std::int64_t q = std::int64_t{sizes_.heads} * (m.nope + m.rope);
  if (m.q_rank > 0) {
    layer_.q_down = finder_.take_matrix(R::kQDown, m.q_rank, spec_.hidden, i_);
    layer_.q_down_norm = finder_.take_norm(R::kQDownNorm, std::nullopt, m.q_rank, i_);
    layer_.q_up = finder_.take_matrix(R::kQUp, q, m.q_rank, i_);
  } else {
    layer_.q_up = finder_.take_matrix(R::kQ, q, spec_.hidden, i_);
  }
  layer_.kv_down = finder_.take_matrix(R::kKvDown, m.kv_rank + m.rope, spec_.hidden, i_);
  layer_.kv_down_norm = finder_.take_norm(R::kKvDownNorm, std::nullopt, m.kv_rank, i_);
  bind_latent_heads();
}

/// Binds the two matrices of each head, which files store in one tensor or in two.
void LayerBinder::bind_latent_heads() {
  const MlaSpec& m = spec_.mla;
  const std::int64_t n = sizes_.heads, r = m.kv_rank;
  const bool apart = finder_.has(R::kKUp, i_);
  const TensorInfo* k_up = nullptr;
  const TensorInfo* v_up = nullptr;
  const TensorInfo* both = nullptr;
  if (apart) {
    k_up = finder_.take(R::kKUp, {n, r, m.nope}, i_);
    v_up = finder_.take(R::kVUp, {n, m.value, r}, i_);
  } else {
    both = finder_.take(R::kKvUp, {n * (m.nope + m.value), r}, i_);
  }
  for (std::int64_t head = 0; head < n; ++head) {
    const std::int64_t first = head * (m.nope + m.value);
    BoundPart k{.tensor = k_up, .first_row = head * r, .rows = r, .cols = m.nope};
    BoundPart v{.tensor = v_up, .first_row = head * m.value, .rows = m.value, .cols = r};
    if (!apart) {
      k = {.tensor = both, .first_row = first, .rows = r, .cols = m.nope};
      k.turned = true;
      k.stored_cols = r;
      v = {.tensor = both, .first_row = first + m.nope, .rows = m.value, .cols = r};
    }
    layer_.k_up.push_back({.parts = {k}, .biases = {}, .rounds = false});
    layer_.v_up.push_back({.parts = {v}, .biases = {}, .rounds = false});
  }
}

void LayerBinder::bind_dense() {
  const std::int64_t f = sizes_.ffn, h = spec_.hidden;
  if (!spec_.gated) {
    layer_.gate_up = finder_.take_weight({{R::kUp, f, R::kUpBias}}, h, i_);
  } else if (finder_.has(R::kGateUp, i_) || finder_.family().rule_of(R::kGate) == nullptr) {
    layer_.gate_up = finder_.take_weight({{R::kGateUp, 2 * f, R::kGateUpBias}}, h, i_);
  } else {
    layer_.gate_up =
        finder_.take_weight({{R::kGate, f, R::kGateBias}, {R::kUp, f, R::kUpBias}}, h, i_);
  }
  layer_.down = finder_.take_weight({{R::kDown, h, R::kDownBias}}, f, i_);
}

void LayerBinder::bind_layer_input() {
  layer_.scalar = finder_.take(R::kLayerScalar, {1}, i_);
  if (spec_.layer_input == 0) return;
  layer_.input_gate = finder_.take_matrix(R::kLayerInputGate, spec_.layer_input, spec_.hidden, i_);
  layer_.input_out = finder_.take_matrix(R::kLayerInputOut, spec_.hidden, spec_.layer_input, i_);
  layer_.input_norm = norm(R::kLayerInputNorm);
}

/// A family may lack the roles for what the configuration states, for example a gate.
void LayerBinder::check_complete() const {
  const auto need = [&](bool there, std::string_view what) {
    if (there) return;
    finder_.fail(
        cat("layer ", i_, ": architecture ", spec_.architecture, " has no tensors for ", what));
  };
  need(layer_.qkv || layer_.kv_down, "queries, keys and values");
  need(static_cast<bool>(layer_.attn_out), "the attention's output");
  need(sizes_.sparse || layer_.gate_up, spec_.gated ? "a gate" : "a layer without a gate");
  need(sizes_.sparse || layer_.down, "the feed-forward layer's output");
}

void LayerBinder::check_biases() const {
  const auto check = [&](std::string_view key, std::optional<bool> said, const BoundWeight& w) {
    if (!said || !w || *said == !w.biases.empty()) return;
    finder_.fail(cat("layer ", i_, ": ", key, " is ", *said, ", but tensor ",
                     printable(w.parts.front().tensor->name), " has ",
                     *said ? "no bias" : "a bias"));
  };
  check("attention_bias", config_.attention_bias, layer_.qkv);
  check("attention_out_bias", config_.attention_out_bias, layer_.attn_out);
  check("mlp_bias", config_.mlp_bias, layer_.gate_up);
  check("mlp_bias", config_.mlp_bias, layer_.down);
}

}  // namespace

BoundLayer bind_layer(TensorFinder& finder, const Config& config, const Spec& spec,
                      std::int64_t i) {
  return LayerBinder(finder, config, spec, i).bind();
}

}  // namespace ingot
