// model_values: the metadata of a GGUF file made from a checkpoint.
#pragma once

#include <string>
#include <vector>

#include "convert/recipe.h"
#include "load/checkpoint.h"
#include "load/gguf/gguf_writer.h"
#include "model/spec.h"

namespace ingot {

/// All keys of a GGUF source except those of a split model, byte for byte and in order; or a
/// folder's configuration as GGUF keys. Sets general.file_type and general.quantization_version for
/// the recipe. Without `tokenizer` its keys and the chat template are left out.
///
/// A value that GGUF can only store less exactly adds a line to `warnings`.
/// Errors: model_error naming the value that GGUF, or a reader of it, cannot express.
GgufValues model_values(const Checkpoint& checkpoint, const Spec& spec, const Recipe& recipe,
                        bool tokenizer, std::vector<std::string>& warnings);

/// The alignment of tensor data that the source's values state.
std::uint32_t alignment_of(const Checkpoint& checkpoint);

}  // namespace ingot
