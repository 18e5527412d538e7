// write_tokenizer: writes a checkpoint's tokenizer as GGUF keys.
#pragma once

#include <string>
#include <vector>

#include "load/checkpoint.h"
#include "load/gguf/gguf_writer.h"

namespace ingot {

/// Sets the keys tokenizer.* from the checkpoint's tokenizer. `vocab`: the number of rows of the
/// embedding; rows without a token get an unused one.
///
/// Adds a line to `warnings` for each property that GGUF stores less exactly than the source.
/// Errors: model_error if there is no tokenizer, or if it has a property that GGUF cannot store;
///         each message names --no-tokenizer.
void write_tokenizer(const Checkpoint& checkpoint, std::int64_t vocab, GgufValues& out,
                     std::vector<std::string>& warnings);

}  // namespace ingot
