// ModelUse: decides by a model's hyper-parameters.
#include "runtime/embed/model_use.h"

#include "base/text.h"

namespace ingot {

namespace {

std::string_view kind_of(const Config& config) {
  if (can_do(config, ModelUse::kScore)) return "a reranker";
  if (config.labels > 1) return "a classifier of several labels";
  if (!config.causal) return "an encoder";
  return is_embedder(config) ? "an embedder" : "a model that generates text";
}

std::string_view lacks(ModelUse use) {
  if (use == ModelUse::kText) return "generates no text";
  return use == ModelUse::kEmbedding ? "makes no embeddings" : "scores no pairs of texts";
}

std::string_view way_out(const Config& config) {
  if (can_do(config, ModelUse::kScore)) return "it scores documents (ingot rerank, /v1/rerank)";
  if (!can_do(config, ModelUse::kEmbedding)) return "ingot has no use for it";
  if (is_embedder(config) || !config.causal) {
    return "it makes embeddings (ingot embed, /v1/embeddings)";
  }
  return "it continues texts (ingot run, ingot chat, /v1/chat/completions)";
}

}  // namespace

bool can_do(const Config& config, ModelUse use) {
  if (use == ModelUse::kText) return config.causal && config.labels == 0;
  if (use == ModelUse::kEmbedding) return config.labels == 0;
  return config.labels == 1 || (config.labels == 2 && config.yes_or_no);
}

bool is_embedder(const Config& config) {
  return config.labels == 0 && config.pooling != PoolingKind::kNone;
}

std::string refusal(const Config& config, ModelUse use) {
  return cat(config.architecture, " is ", kind_of(config), ", which ", lacks(use), ": ",
             way_out(config));
}

}  // namespace ingot
