// convert_adapter: writes a PEFT adapter as a GGUF adapter, or the other way round.
#pragma once

#include <string>
#include <vector>

#include "load/adapter/adapter_file.h"
#include "load/checkpoint.h"

namespace ingot {

/// Writes the adapter at `path` in the other form: a GGUF file for a PEFT folder, or a folder for a
/// GGUF file. Names, the order of rows and stacks of experts are those of files of the model.
///
/// Returns what users may want to know, one line each.
/// Errors: model_error if no pair has an effect on the model; those of plan_adapter, convert_pairs,
///         write_gguf_adapter and write_peft_adapter.
std::vector<std::string> convert_adapter(const AdapterFile& file, const Checkpoint& model,
                                         const std::string& path);

}  // namespace ingot
