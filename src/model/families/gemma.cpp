// Gemma 1 to 4 and EmbeddingGemma.
#include "model/families/role_lists.h"

namespace ingot::role_lists {

using R = TensorRole;

namespace {

/// Norms before and after each sublayer.
Roles sandwich() {
  return with(decoder(),
              {{R::kAttnOutNorm, kRequired, {}},
               {R::kFfnNorm, kRequired, {{}, "layers.%.pre_feedforward_layernorm.weight"}},
               {R::kFfnOutNorm, kRequired, {}}});
}

Roles gemma4() {
  return with(with(sandwich(), head_norms(kRequired)), {{R::kLayerEmbedding, kRequired, {}},
                                                        {R::kLayerProjection, kRequired, {}},
                                                        {R::kLayerProjectionNorm, kRequired, {}},
                                                        {R::kLayerInputGate, kRequired, {}},
                                                        {R::kLayerInputOut, kRequired, {}},
                                                        {R::kLayerInputNorm, kRequired, {}},
                                                        {R::kLayerScalar, kRequired, {}}});
}

}  // namespace

std::vector<Family> gemma_families() {
  return {
      {.architectures = {"gemma"}, .roles = decoder(), .unused = {}},
      {.architectures = {"gemma2"}, .roles = sandwich(), .unused = {}},
      {.architectures = {"gemma3", "gemma-embedding"},
       .roles = with(sandwich(), head_norms(kRequired)),
       .unused = {}},
      {.architectures = {"gemma4"}, .roles = gemma4(), .unused = {}},
  };
}

}  // namespace ingot::role_lists
