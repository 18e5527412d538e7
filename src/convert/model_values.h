// model_values: makes the metadata of a GGUF file from a checkpoint.
#pragma once

#include <string>
#include <vector>

#include "convert/recipe.h"
#include "load/checkpoint.h"
#include "load/gguf/gguf_writer.h"
#include "model/spec.h"

namespace ingot {

/// Copies all keys of a GGUF source except split.*, byte for byte and in order; or writes a
/// folder's configuration as GGUF keys. Then sets general.file_type and
/// general.quantization_version for the recipe. Without `tokenizer`, leaves out the tokenizer and
/// the chat template.
///
/// A value that GGUF stores less exactly adds a line to `warnings`.
/// Errors: model_error naming a value that GGUF or its readers cannot express.
GgufValues model_values(const Checkpoint& checkpoint, const Spec& spec, const Recipe& recipe,
                        bool tokenizer, std::vector<std::string>& warnings);

/// Alignment of tensor data in bytes: the source's general.alignment, or GGUF's default.
std::uint32_t alignment_of(const Checkpoint& checkpoint);

}  // namespace ingot
