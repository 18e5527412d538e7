// model_values: the metadata of a GGUF file made from a checkpoint.
#pragma once

#include <string>
#include <vector>

#include "convert/recipe.h"
#include "load/checkpoint.h"
#include "load/gguf/gguf_writer.h"
#include "model/spec.h"

namespace ingot {

/// Options of the metadata.
struct ModelValuesOptions {
  const Recipe* recipe = nullptr;
  bool tokenizer = true;  ///< false leaves the tokenizer and the chat template out
};

/// All keys of a GGUF source except those of a split model, byte for byte and in order; or a
/// folder's configuration as GGUF keys. Sets general.file_type and general.quantization_version for
/// the recipe.
///
/// A value that GGUF can only store less exactly adds a line to `warnings`.
/// Errors: model_error naming the value that GGUF, or a reader of it, cannot express.
GgufValues model_values(const Checkpoint& checkpoint, const Spec& spec,
                        const ModelValuesOptions& options, std::vector<std::string>& warnings);

/// The alignment of tensor data that the source's values state.
std::uint32_t alignment_of(const Checkpoint& checkpoint);

}  // namespace ingot
