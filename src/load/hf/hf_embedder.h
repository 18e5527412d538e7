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
/// normalisation. Paths are names of folders in the model's folder.
struct HfModules {
  std::string pooling;
  std::vector<std::string> dense;
  bool normalise = false;
};

/// Reads modules.json. Refuses modules of other types (SPLADE, ColBERT, code of models) by name.
HfModules read_hf_modules(const Json& root, const std::string& file);

/// Reads the pooling module's config.json into `config.pooling`. Refuses a pooling with several
/// modes, and modes except the mean, the first token and the last token.
void read_hf_pooling(const Json& root, const std::string& file, Config& config);

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
