// Opens models in GGUF files.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "load/checkpoint.h"
#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// Opens a model in one GGUF file, or in the split set that the file belongs to: all of its files,
/// NAME-00001-of-0000N.gguf, are then opened from the same folder.
///
/// Errors: model_error(file, section, offset, reason), also for a file without tensors.
std::unique_ptr<Checkpoint> open_gguf(const std::string& path);

/// Opens the bytes of a single file, which must outlive the checkpoint.
std::unique_ptr<Checkpoint> open_gguf_bytes(std::span<const std::byte> bytes, std::string name);

/// Reads only the tokenizer of a GGUF file, of any architecture and with or without tensors.
///
/// Errors: those of open_gguf; model_error when the file has no tokenizer.
std::unique_ptr<TokenizerData> read_gguf_tokenizer(const std::string& path);

}  // namespace ingot
