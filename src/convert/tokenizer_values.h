// write_tokenizer: a tokenizer as GGUF keys.
#pragma once

#include <string>
#include <vector>

#include "load/checkpoint.h"
#include "load/gguf/gguf_writer.h"

namespace ingot {

/// Sets the keys tokenizer.* from the checkpoint's tokenizer.
///
/// A property that GGUF can only store less exactly adds a line to `warnings`.
/// Errors: model_error for a property that GGUF cannot store, and without a tokenizer; each message
///         names --no-tokenizer.
void write_tokenizer(const Checkpoint& checkpoint, GgufValues& out,
                     std::vector<std::string>& warnings);

}  // namespace ingot
