// gguf_pairs: reads the keys of a GGUF adapter, and joins its tensors to pairs.
#pragma once

#include "load/adapter/adapter_file.h"
#include "load/gguf/gguf_file.h"

namespace ingot {

/// Fills `file` from a parsed GGUF file, whose tensors it takes.
///
/// Errors: model_error that names the key or the tensor.
/// Source: llama.cpp, src/llama-adapter.cpp: alpha 0 stands for the scale 1.
void gguf_pairs(GgufFile parsed, AdapterFile& file);

}  // namespace ingot
