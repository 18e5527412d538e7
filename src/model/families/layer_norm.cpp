// Command-R, StableLM and StarCoder2: decoders with layer norms.
#include "model/families/role_lists.h"

namespace ingot::role_lists {

using R = TensorRole;

namespace {

/// Biases of the norms.
Roles norm_biases() {
  return {{R::kAttnNormBias, kRequired, {}},
          {R::kFfnNormBias, kRequired, {}},
          {R::kFinalNormBias, kRequired, {}}};
}

/// Only a model without parallel residual has a norm before the feed-forward layer.
Roles stablelm() {
  return with(with(decoder(), norm_biases()),
              {{R::kQNormEach, kOptional, {{}, "layers.%.self_attn.q_layernorm.norms.%.weight"}},
               {R::kKNormEach, kOptional, {{}, "layers.%.self_attn.k_layernorm.norms.%.weight"}}});
}

Roles starcoder2() {
  return with(
      with(without(decoder(), {R::kGate, R::kGateUp, R::kGateBias, R::kGateUpBias}), norm_biases()),
      {{R::kUp, kRequired, {{}, "layers.%.mlp.c_fc.weight"}},
       {R::kUpBias, kOptional, {{}, "layers.%.mlp.c_fc.bias"}},
       {R::kDown, kRequired, {{}, "layers.%.mlp.c_proj.weight"}},
       {R::kDownBias, kOptional, {{}, "layers.%.mlp.c_proj.bias"}}});
}

}  // namespace

std::vector<Family> layer_norm_families() {
  return {
      {.architectures = {"command-r"},
       .roles = with(without(decoder(), {R::kFfnNorm}), norms_of_each_head()),
       .unused = {}},
      {.architectures = {"cohere2"}, .roles = without(decoder(), {R::kFfnNorm}), .unused = {}},
      {.architectures = {"stablelm"}, .roles = stablelm(), .unused = {}},
      {.architectures = {"starcoder2"}, .roles = starcoder2(), .unused = {}},
  };
}

}  // namespace ingot::role_lists
