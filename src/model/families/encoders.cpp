// BERT, MPNet, nomic-bert and ModernBERT.
#include "model/families/role_lists.h"

namespace ingot::role_lists {

using R = TensorRole;

namespace {

/// An encoder with embeddings of words and positions, a norm after each sublayer, and biases.
Roles post_norm_encoder() {
  return {
      {R::kEmbedding, kOptional, {{}, "embeddings.word_embeddings.weight"}},
      {R::kEmbeddingNorm, kRequired, {}},
      {R::kEmbeddingNormBias, kRequired, {}},
      {R::kQkv, kOptional, {{}, "-"}},
      {R::kQkvBias, kOptional, {{}, "-"}},
      {R::kQ, kRequired, {{}, "encoder.layer.%.attention.self.query.weight"}},
      {R::kK, kRequired, {{}, "encoder.layer.%.attention.self.key.weight"}},
      {R::kV, kRequired, {{}, "encoder.layer.%.attention.self.value.weight"}},
      {R::kQBias, kRequired, {{}, "encoder.layer.%.attention.self.query.bias"}},
      {R::kKBias, kRequired, {{}, "encoder.layer.%.attention.self.key.bias"}},
      {R::kVBias, kRequired, {{}, "encoder.layer.%.attention.self.value.bias"}},
      {R::kAttnOut, kRequired, {{}, "encoder.layer.%.attention.output.dense.weight"}},
      {R::kAttnOutBias, kRequired, {{}, "encoder.layer.%.attention.output.dense.bias"}},
      {R::kAttnPostNorm, kRequired, {}},
      {R::kAttnPostNormBias, kRequired, {}},
      {R::kUp, kRequired, {{}, "encoder.layer.%.intermediate.dense.weight"}},
      {R::kUpBias, kRequired, {{}, "encoder.layer.%.intermediate.dense.bias"}},
      {R::kDown, kRequired, {{}, "encoder.layer.%.output.dense.weight"}},
      {R::kDownBias, kRequired, {{}, "encoder.layer.%.output.dense.bias"}},
      {R::kFfnPostNorm, kRequired, {}},
      {R::kFfnPostNormBias, kRequired, {}},
  };
}

Roles bert() {
  return with(post_norm_encoder(), {{R::kPositions, kRequired, {}}, {R::kTypes, kRequired, {}}});
}

Roles mpnet() {
  return with(
      post_norm_encoder(),
      {{R::kPositions, kRequired, {}},
       {R::kRelativeBias, kRequired, {}},
       {R::kQ, kRequired, {{}, "encoder.layer.%.attention.attn.q.weight"}},
       {R::kK, kRequired, {{}, "encoder.layer.%.attention.attn.k.weight"}},
       {R::kV, kRequired, {{}, "encoder.layer.%.attention.attn.v.weight"}},
       {R::kQBias, kRequired, {{}, "encoder.layer.%.attention.attn.q.bias"}},
       {R::kKBias, kRequired, {{}, "encoder.layer.%.attention.attn.k.bias"}},
       {R::kVBias, kRequired, {{}, "encoder.layer.%.attention.attn.v.bias"}},
       {R::kAttnOut, kRequired, {{}, "encoder.layer.%.attention.attn.o.weight"}},
       {R::kAttnOutBias, kRequired, {{}, "encoder.layer.%.attention.attn.o.bias"}},
       {R::kAttnPostNorm, kRequired, {{}, "encoder.layer.%.attention.LayerNorm.weight"}},
       {R::kAttnPostNormBias, kRequired, {{}, "encoder.layer.%.attention.LayerNorm.bias"}}});
}

Roles nomic_bert() {
  return with(post_norm_encoder(),
              {{R::kTypes, kRequired, {}},
               {R::kEmbeddingNorm, kRequired, {{}, "emb_ln.weight"}},
               {R::kEmbeddingNormBias, kRequired, {{}, "emb_ln.bias"}},
               {R::kQkv, kRequired, {{}, "encoder.layers.%.attn.Wqkv.weight"}},
               {R::kQkvBias, kOptional, {{}, "encoder.layers.%.attn.Wqkv.bias"}},
               {R::kAttnOut, kRequired, {{}, "encoder.layers.%.attn.out_proj.weight"}},
               {R::kAttnOutBias, kOptional, {{}, "encoder.layers.%.attn.out_proj.bias"}},
               {R::kAttnPostNorm, kRequired, {{}, "encoder.layers.%.norm1.weight"}},
               {R::kAttnPostNormBias, kRequired, {{}, "encoder.layers.%.norm1.bias"}},
               {R::kGate, kRequired, {{}, "encoder.layers.%.mlp.fc12.weight"}},
               {R::kUp, kRequired, {{}, "encoder.layers.%.mlp.fc11.weight"}},
               {R::kUpBias, kOptional, {{}, "-"}},
               {R::kDown, kRequired, {{}, "encoder.layers.%.mlp.fc2.weight"}},
               {R::kDownBias, kOptional, {{}, "-"}},
               {R::kFfnPostNorm, kRequired, {{}, "encoder.layers.%.norm2.weight"}},
               {R::kFfnPostNormBias, kRequired, {{}, "encoder.layers.%.norm2.bias"}}});
}

/// Norms before the sublayers, without biases. The first layer has none before its attention.
Roles modern_bert() {
  return {
      {R::kEmbedding, kOptional, {{}, "embeddings.tok_embeddings.weight"}},
      {R::kEmbeddingNorm, kRequired, {{}, "embeddings.norm.weight"}},
      {R::kFinalNorm, kRequired, {{}, "final_norm.weight"}},
      {R::kAttnNorm, Presence::kAfterFirst, {{}, "layers.%.attn_norm.weight"}},
      {R::kQkv, kRequired, {{}, "layers.%.attn.Wqkv.weight"}},
      {R::kAttnOut, kRequired, {{}, "layers.%.attn.Wo.weight"}},
      {R::kFfnNorm, kRequired, {{}, "layers.%.mlp_norm.weight"}},
      {R::kGateUp, kRequired, {"blk.%.ffn_up.weight", "layers.%.mlp.Wi.weight"}},
      {R::kDown, kRequired, {{}, "layers.%.mlp.Wo.weight"}},
  };
}

}  // namespace

std::vector<Family> encoder_families() {
  return {
      {.architectures = {"bert"},
       .roles = bert(),
       .unused = {"cls.predictions.", "cls.seq_relationship.", "lm_head.", "pooler."}},
      {.architectures = {"mpnet"}, .roles = mpnet(), .unused = {"lm_head.", "pooler."}},
      {.architectures = {"nomic-bert"},
       .roles = nomic_bert(),
       .unused = {"cls.predictions.", "pooler."}},
      {.architectures = {"modern-bert"},
       .roles = modern_bert(),
       .unused = {"head.", "decoder.", "classifier."}},
  };
}

}  // namespace ingot::role_lists
