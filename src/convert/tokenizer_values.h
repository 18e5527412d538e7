// A tokenizer as GGUF keys.
#pragma once

#include <string>
#include <vector>

#include "load/checkpoint.h"
#include "load/gguf/gguf_writer.h"

namespace ingot {

/// Sets the keys tokenizer.* from the checkpoint's tokenizer.
///
/// What a GGUF file cannot say at all is refused, what it can only say less exactly is a line in
/// `warnings`.
/// Errors: model_error, also when there is no tokenizer; each says that --no-tokenizer leaves it
///         out.
void write_tokenizer(const Checkpoint& checkpoint, GgufValues& out,
                     std::vector<std::string>& warnings);

}  // namespace ingot
