// Reads the JSON files of a sentence-transformers folder: modules, pooling, dense layers, prompts.
#pragma once

#include <string>
#include <vector>

#include "load/config.h"
#include "load/embedder.h"
#include "load/json.h"
#include "load/load_notes.h"

namespace ingot {

/// All functions below throw model_error that names the key and its value.
///
/// Source: sentence-transformers 5, models/{Transformer,Pooling,Dense,Normalize}.py.

/// The modules of modules.json: a transformer, pooling, any number of dense layers, and possibly
/// normalisation; or a transformer and the scores of a reranker. Paths are names of folders in the
/// model's folder.
struct HfModules {
  std::string pooling;  ///< empty if the model is a reranker
  std::vector<std::string> dense;
  bool normalise = false;
  std::string scores{};  ///< module LogitScore; empty if the model is an embedder
};

/// Reads modules.json. Refuses modules of other types (SPLADE, ColBERT, code of models) by name.
HfModules read_hf_modules(const Json& root, const std::string& file);

/// Reads the pooling module's config.json into `config.pooling`. Refuses a pooling with several
/// modes, and modes except the mean, the first token and the last token.
void read_hf_pooling(const Json& root, const std::string& file, Config& config);

/// Reads a LogitScore module's config.json into `config.label_tokens`: a reranker's score is the
/// logit of a token, or the difference of two tokens' logits at a text's end.
void read_hf_logit_score(const Json& root, const std::string& file, Config& config);

/// Reads a dense module's config.json and appends its layer to `config.dense`. The tensors' names
/// are those of the module's file, with `folder` and a slash before them.
void read_hf_dense(const Json& root, const std::string& file, const std::string& folder,
                   Config& config);

/// Reads config_sentence_transformers.json: prompts, and the type of the model.
void read_hf_prompts(const Json& root, const std::string& file, EmbedderSettings& settings);

/// Reads sentence_bert_config.json: the longest text, and whether texts become lower case.
void read_hf_text_settings(const Json& root, const std::string& file, EmbedderSettings& settings);

/// Reads how a cross-encoder's scores follow from its logits, from config.json.
void read_hf_scores(const Json& root, const std::string& file, EmbedderSettings& settings);

}  // namespace ingot
