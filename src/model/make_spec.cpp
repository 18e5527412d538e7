// make_spec: copies a Config's fields, and works out each layer's sizes and rotary frequencies.
#include "model/make_spec.h"

#include <algorithm>
#include <cmath>

#include "base/index.h"
#include "model/rope.h"

namespace ingot {

namespace {

std::int32_t narrow(std::int64_t value) { return static_cast<std::int32_t>(value); }

Act act_of(Activation activation) {
  switch (activation) {
    case Activation::kSilu:
      return Act::kSilu;
    case Activation::kGeluTanh:
      return Act::kGeluTanh;
    case Activation::kGeluErf:
      return Act::kGeluErf;
    case Activation::kGptOss:
      return Act::kGptOss;
  }
  return Act::kSilu;
}

Pooling pooling_of(PoolingKind kind) {
  switch (kind) {
    case PoolingKind::kNone:
      return Pooling::kNone;
    case PoolingKind::kMean:
      return Pooling::kMean;
    case PoolingKind::kCls:
      return Pooling::kCls;
    case PoolingKind::kLast:
      return Pooling::kLast;
  }
  return Pooling::kNone;
}

/// An entry of a Config's list of layers, or `other` if the list is empty.
template <class T>
T entry(const std::vector<T>& list, std::int64_t i, T other) {
  return list.empty() ? other : static_cast<T>(at(list, i));
}

void set_heads(const Config& c, const LayerSizes& sizes, LayerSpec& layer) {
  const MlaSizes& mla = c.mla;
  layer.heads = narrow(sizes.heads);
  if (mla.kv_rank > 0) {
    layer.kv_heads = 1;
    layer.head_dim = narrow(mla.kv_rank + mla.rope);
    layer.value_dim = narrow(mla.kv_rank);
  } else {
    layer.kv_heads = narrow(sizes.kv_heads);
    layer.head_dim = narrow(sizes.head_dim);
    layer.value_dim = layer.head_dim;
  }
  const std::int64_t scored = mla.kv_rank > 0 ? mla.nope + mla.rope : sizes.head_dim;
  layer.attention_scale =
      static_cast<float>(c.attention_scale.value_or(1 / std::sqrt(static_cast<double>(scored))));
}

LayerSpec layer_spec(const Config& c, std::int64_t i) {
  const LayerSizes same{
      .heads = c.heads, .kv_heads = c.kv_heads, .head_dim = c.head_dim, .ffn = c.ffn};
  const LayerSizes sizes = entry(c.sizes, i, same);
  LayerSpec layer;
  set_heads(c, sizes, layer);
  layer.ffn = sizes.ffn;
  layer.window = narrow(entry<std::int64_t>(c.window, i, 0));
  layer.rope = entry<std::int32_t>(c.rope_layer, i, 0);
  layer.sparse = c.experts != 0 && !(c.dense_layer.empty() ? false : at(c.dense_layer, i));
  layer.kv_source = entry<std::int32_t>(c.kv_source, i, -1);
  layer.values_from_keys = c.values_from_keys.empty() ? false : at(c.values_from_keys, i);
  return layer;
}

Moe moe_of(const Config& c) {
  if (c.experts == 0) return {};
  const RouterRules& r = c.router;
  Moe moe;
  moe.experts = narrow(c.experts);
  moe.used = narrow(c.experts_used);
  moe.ffn = narrow(c.expert_ffn);
  moe.renormalise = r.renormalise;
  moe.act = act_of(c.activation);
  moe.score = r.sigmoid ? Moe::Score::kSigmoid : Moe::Score::kSoftmax;
  moe.scale = static_cast<float>(r.scale);
  moe.groups = narrow(r.groups);
  moe.groups_used = narrow(r.groups_used);
  moe.group_score = r.groups_by_two_best ? Moe::GroupScore::kSumOfTwo : Moe::GroupScore::kBest;
  return moe;
}

void set_switches(const Config& c, Spec& s) {
  s.norm = c.norm == Normalisation::kRms ? NormKind::kRms : NormKind::kLayer;
  s.norm_eps = static_cast<float>(c.norm_eps);
  s.norm_plus_one = c.norm_plus_one;
  s.norm_after_rope = c.qk_norm_after_rope;
  s.value_norm = c.v_norm;
  s.parallel_residual = c.parallel_residual;
  s.residual_scale = static_cast<float>(c.residual_scale);
  s.embed_scale = static_cast<float>(c.embed_scale);
  s.logit_scale = static_cast<float>(c.logit_scale);
  s.logit_cap = static_cast<float>(c.logit_cap);
  s.score_cap = static_cast<float>(c.score_cap);
  s.causal = c.causal;
  s.mla = {.q_rank = narrow(c.mla.q_rank),
           .kv_rank = narrow(c.mla.kv_rank),
           .nope = narrow(c.mla.nope),
           .rope = narrow(c.mla.rope),
           .value = narrow(c.mla.value),
           .norm_eps = static_cast<float>(c.mla.norm_eps.value_or(c.norm_eps))};
  s.act = act_of(c.activation);
  s.gated = c.gated;
}

void set_embedder(const Config& c, Spec& s) {
  s.position_offset = narrow(c.position_offset);
  s.relative_buckets = c.relative_buckets;
  s.pooling = pooling_of(c.pooling);
  if (c.labels > 0 && s.pooling == Pooling::kNone) s.pooling = Pooling::kCls;
  s.normalise = c.normalise;
  s.labels = c.labels;
  for (const DenseLayer& d : c.dense) {
    s.dense.push_back({.inputs = d.inputs, .outputs = d.outputs, .tanh = d.tanh});
  }
}

}  // namespace

Spec make_spec(const Config& c, std::int64_t context) {
  Spec s;
  s.architecture = c.architecture;
  s.layers = c.layers;
  s.hidden = c.hidden;
  s.context = c.context;
  for (std::int64_t i = 0; i < c.layers; ++i) s.layer_specs.push_back(layer_spec(c, i));
  set_switches(c, s);
  for (const RopeConfig& rope : c.ropes) {
    const auto original = static_cast<std::int64_t>(rope.scaling.original_context);
    if (rope.scaling.kind == RopeScaling::Kind::kLongrope && context <= original) {
      s.context = std::min(s.context, original);
    }
    s.ropes.push_back(rope_spec(rope, context));
  }
  s.moe = moe_of(c);
  s.shared_ffn = c.experts == 0 ? 0 : c.shared_ffn;
  s.layer_input = c.layer_input;
  set_embedder(c, s);
  return s;
}

}  // namespace ingot
