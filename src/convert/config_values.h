// write_config: writes a folder's configuration as GGUF keys.
#pragma once

#include <string>
#include <vector>

#include "load/checkpoint.h"
#include "load/gguf/gguf_writer.h"
#include "model/bind.h"

namespace ingot {

/// Writes the keys about the model that `gguf_config` reads: sizes, windows, rotary embeddings,
/// factors, experts, pooling. Which keys an architecture has is in the table of `gguf_family`.
///
/// Adds a line to `warnings` for each value that GGUF stores less exactly than the source.
/// Errors: model_error naming a value that no key expresses. `fit_to_readers` finds the others.
/// Source: llama.cpp, load_hparams and its conversion scripts.
void write_config(const Checkpoint& checkpoint, const BoundModel& model, GgufValues& out,
                  std::vector<std::string>& warnings);

}  // namespace ingot
