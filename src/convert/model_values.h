// model_values: makes the metadata of a GGUF file from a checkpoint.
#pragma once

#include <string>
#include <vector>

#include "convert/quantise.h"
#include "convert/tensor_list.h"
#include "load/checkpoint.h"
#include "load/gguf/gguf_writer.h"
#include "model/bind.h"

namespace ingot {

/// Makes a file's metadata. Copies all keys of a GGUF source except split.*, byte for byte and in
/// order, or converts a folder's configuration to GGUF keys. Then sets general.file_type and
/// general.quantization_version for the recipe. Without a recipe, general.file_type stays, or is
/// the type of most weights. If `options.tokenizer` is false, leaves out the tokenizer and the chat
/// template. `tensors`: the tensors that the file will have; see `fit_to_readers`.
///
/// Adds a line to `warnings` for each value that GGUF stores less exactly than the source.
/// Errors: model_error naming a value that GGUF or its readers cannot express.
GgufValues model_values(const Checkpoint& checkpoint, const BoundModel& model,
                        std::vector<ListedTensor>& tensors, const QuantiseOptions& options,
                        std::vector<std::string>& warnings);

/// Returns tensor data's alignment, in bytes: the source's general.alignment or GGUF's default.
std::uint32_t alignment_of(const Checkpoint& checkpoint);

}  // namespace ingot
