// Opens GGUF files as checkpoints, including split models, and reads their tokenizers.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "load/checkpoint.h"
#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// Opens a GGUF file. If the file belongs to a split model, opens all files of the model,
/// NAME-00001-of-0000N.gguf, in the same folder.
///
/// Errors: model_error(file, section, offset, reason), also if the file has no tensors.
std::unique_ptr<Checkpoint> open_gguf(const std::string& path, const OpenOptions& options = {});

/// Opens a single GGUF file from its bytes, which must outlive the checkpoint.
std::unique_ptr<Checkpoint> open_gguf_bytes(std::span<const std::byte> bytes, std::string name,
                                            const OpenOptions& options = {});

/// Reads only the tokenizer of a GGUF file of any architecture. The file needs no tensors.
///
/// Errors: model_error(file, section, offset, reason), also if the file has no tokenizer.
std::unique_ptr<TokenizerData> read_gguf_tokenizer(const std::string& path);

}  // namespace ingot
