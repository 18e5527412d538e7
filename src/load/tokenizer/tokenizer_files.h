// Reads a tokenizer from files of any kind (GGUF, tokenizer.json, ...), told apart by content.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/file.h"
#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// Reads one tokenizer from a GGUF file (even without tensors), a folder, or files in any order:
/// tokenizer.json; a SentencePiece model; vocab.json and merges.txt; or vocab.txt. Further files
/// may be tokenizer_config.json and special_tokens_map.json. Recognises files by content.
///
/// Errors: model_error if a file cannot be read, or if the files do not make one tokenizer.
TokenizerData read_tokenizer_files(std::span<const std::string> paths);

/// Reads the tokenizer, its configuration and its chat template from a model's folder. Uses the
/// first existing file of: tokenizer.json; tokenizer.model; spiece.model; vocab.json with
/// merges.txt; vocab.txt. Returns null if none exists.
///
/// Errors: those of `read_tokenizer_files`.
std::unique_ptr<TokenizerData> read_folder_tokenizer(const Directory& folder);

}  // namespace ingot
