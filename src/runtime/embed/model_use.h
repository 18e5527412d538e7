// ModelUse: what a model can be used for, and the reasons why it cannot be used for other work.
#pragma once

#include <string>

#include "load/config.h"

namespace ingot {

/// A kind of work that users ask of a model.
enum class ModelUse {
  kText,       ///< continue a text
  kEmbedding,  ///< make a vector of a text
  kScore,      ///< score a pair of texts
};

/// Returns whether the model can do this work. Any decoder can make vectors, but only those of
/// embedders are good: see `is_embedder`.
bool can_do(const Config& config, ModelUse use);

/// Returns whether the model was made for embeddings.
bool is_embedder(const Config& config);

/// Returns what the model is and can do, as a sentence for users who asked for other work: "bert is
/// an encoder, which generates no text: it makes embeddings (ingot embed, /v1/embeddings)".
std::string refusal(const Config& config, ModelUse use);

}  // namespace ingot
