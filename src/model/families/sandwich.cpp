// OLMo 2 and 3, EXAONE 4 and GLM-4: decoders with norms of the sublayers' outputs.
#include "model/families/role_lists.h"

namespace ingot::role_lists {

using R = TensorRole;

std::vector<Family> sandwich_families() {
  const Roles post_norms =
      with(without(decoder(), {R::kAttnNorm, R::kFfnNorm}),
           {{R::kAttnOutNorm, kRequired, {}}, {R::kFfnOutNorm, kRequired, {}}});
  const Roles glm4 =
      with(without(decoder(), {R::kGate, R::kUp}),
           {{R::kAttnOutNorm, kRequired, {{}, "layers.%.post_self_attn_layernorm.weight"}},
            {R::kFfnOutNorm, kRequired, {{}, "layers.%.post_mlp_layernorm.weight"}},
            {R::kGateUp, kRequired, {"blk.%.ffn_up.weight", {}}}});
  return {
      {.architectures = {"olmo2"}, .roles = with(post_norms, wide_norms()), .unused = {}},
      {.architectures = {"exaone4"},
       .roles = with(post_norms, head_norms(kRequired)),
       .unused = {}},
      {.architectures = {"glm4"}, .roles = glm4, .unused = {}},
  };
}

}  // namespace ingot::role_lists
