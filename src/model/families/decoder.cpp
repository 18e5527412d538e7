// Builds the Spec and the tensor table of Llama-like decoders.
#include "model/families/decoder.h"

#include <cmath>

#include "base/index.h"
#include "model/rope.h"

namespace ingot {

namespace {

Act act_of(Activation activation) {
  switch (activation) {
    case Activation::kSilu:
      return Act::kSilu;
    case Activation::kGeluTanh:
      return Act::kGeluTanh;
    case Activation::kGeluErf:
      return Act::kGeluErf;
    case Activation::kGptOss:
      break;
  }
  return Act::kSilu;
}

void set_experts(const Config& c, Spec& s) {
  const auto layers = to_size(c.layers);
  s.sparse.assign(layers, c.experts != 0);
  if (c.experts == 0) return;
  s.moe = {.experts = static_cast<std::int32_t>(c.experts),
           .used = static_cast<std::int32_t>(c.experts_used),
           .ffn = static_cast<std::int32_t>(c.expert_ffn),
           .renormalise = c.router.renormalise,
           .act = act_of(c.activation)};
  for (std::size_t i = 0; i < c.dense_layer.size(); ++i) {
    if (c.dense_layer[i]) s.sparse[i] = false;
  }
}

}  // namespace

Spec decoder_spec(const Config& c) {
  const auto layers = to_size(c.layers);
  Spec s;
  s.architecture = c.architecture;
  s.layers = c.layers;
  s.hidden = c.hidden;
  s.ffn = c.ffn;
  s.context = c.context;
  s.heads = static_cast<std::int32_t>(c.heads);
  s.kv_heads = static_cast<std::int32_t>(c.kv_heads);
  s.head_dim = static_cast<std::int32_t>(c.head_dim);
  s.norm_eps = static_cast<float>(c.norm_eps);
  s.attention_scale = static_cast<float>(1 / std::sqrt(static_cast<double>(c.head_dim)));
  s.window.assign(layers, 0);
  for (std::size_t i = 0; i < c.window.size(); ++i) {
    s.window[i] = static_cast<std::int32_t>(c.window[i]);
  }
  s.ropes = {rope_spec(c.ropes.front())};
  s.rope.assign(layers, 0);
  s.act = act_of(c.activation);
  set_experts(c, s);
  return s;
}

std::vector<RoleRule> decoder_roles(std::initializer_list<RoleRule> more) {
  // Embedding, head and final norm are optional, because a pipeline stage or a backbone lacks them.
  // load_model refuses a checkpoint that lacks a part which its options need.
  std::vector<RoleRule> roles{
      {TensorRole::kEmbedding, Presence::kOptional}, {TensorRole::kFinalNorm, Presence::kOptional},
      {TensorRole::kHead, Presence::kOptional},      {TensorRole::kAttnNorm, Presence::kRequired},
      {TensorRole::kQ, Presence::kRequired},         {TensorRole::kK, Presence::kRequired},
      {TensorRole::kV, Presence::kRequired},         {TensorRole::kAttnOut, Presence::kRequired},
      {TensorRole::kFfnNorm, Presence::kRequired},
  };
  roles.insert(roles.end(), more);
  return roles;
}

}  // namespace ingot
