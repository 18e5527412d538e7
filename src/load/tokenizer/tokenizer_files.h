// Reads a tokenizer from its files, which it recognises by content: GGUF, tokenizer.json, ...
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/file.h"
#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// Reads one tokenizer from a GGUF file (also without tensors), a folder, or files in any order:
/// tokenizer.json; a SentencePiece model; vocab.json and merges.txt; or vocab.txt. Optional
/// files: tokenizer_config.json and special_tokens_map.json. Files are recognised by content.
///
/// Errors: model_error for a file that cannot be read, or files that do not make one tokenizer.
TokenizerData read_tokenizer_files(std::span<const std::string> paths);

/// Reads the tokenizer in a model's folder, with its configuration and chat template. Reads the
/// first of: tokenizer.json; tokenizer.model; spiece.model; vocab.json with merges.txt;
/// vocab.txt. Null if the folder has none of these files.
///
/// Errors: those of `read_tokenizer_files`.
std::unique_ptr<TokenizerData> read_folder_tokenizer(const Directory& folder);

}  // namespace ingot
