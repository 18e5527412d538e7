// Reads a tokenizer from files: recognises each file and joins those of one tokenizer.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/file.h"
#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// Reads the tokenizer that the given paths describe together, in any order, each recognised by its
/// content: a GGUF file (which may hold a vocabulary alone), a folder, or files of one:
/// tokenizer.json; a SentencePiece model; vocab.json and merges.txt; vocab.txt; each with
/// tokenizer_config.json and special_tokens_map.json where they are given.
///
/// Errors: model_error for what cannot be read, and for files that do not make one tokenizer.
TokenizerData read_tokenizer_files(std::span<const std::string> paths);

/// Reads the tokenizer beside a model, by the usual names: tokenizer.json, or else tokenizer.model,
/// or else vocab.json with merges.txt, or else vocab.txt; with the configuration and chat template
/// beside it. Null where the folder has none.
///
/// Errors: those of read_tokenizer_files.
std::unique_ptr<TokenizerData> read_folder_tokenizer(const Directory& folder);

}  // namespace ingot
