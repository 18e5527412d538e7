// The metadata of a GGUF file that is made from a checkpoint.
#pragma once

#include <string>
#include <vector>

#include "convert/recipe.h"
#include "load/checkpoint.h"
#include "load/gguf/gguf_writer.h"
#include "model/spec.h"

namespace ingot {

/// What a file's metadata is made for.
struct ModelValuesOptions {
  const Recipe* recipe = nullptr;
  bool tokenizer = true;  ///< false leaves the tokenizer and the chat template out
};

/// All keys of a GGUF source, byte for byte and in its order, but those of the split; or a folder's
/// configuration in GGUF's spelling. general.file_type and general.quantization_version are set for
/// the recipe.
///
/// What GGUF can only say less exactly is a line in `warnings`.
/// Errors: model_error naming what GGUF, or a reader of it, cannot express.
GgufValues model_values(const Checkpoint& checkpoint, const Spec& spec,
                        const ModelValuesOptions& options, std::vector<std::string>& warnings);

/// The alignment that the values of a source ask for.
std::uint32_t alignment_of(const Checkpoint& checkpoint);

}  // namespace ingot
