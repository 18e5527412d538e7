// write_gguf_adapter and write_peft_adapter: write the files of an adapter.
#pragma once

#include <string>
#include <vector>

#include "convert/adapter/adapter_pairs.h"
#include "load/adapter/adapter_file.h"

namespace ingot {

/// Writes a GGUF adapter, as llama.cpp's convert_lora_to_gguf.py does, with the pairs and what else
/// the file `from` says. A pair whose scale the file's one alpha does not give gets another B.
/// `architecture`: the model's, in GGUF's spelling.
///
/// Returns what users may want to know, one line each.
/// Errors: model_error if all scales are 0; kIo.
std::vector<std::string> write_gguf_adapter(const AdapterFile& from,
                                            const std::vector<NewPair>& pairs,
                                            const std::string& architecture,
                                            const std::string& path);

/// Writes a folder with adapter_config.json and adapter_model.safetensors. `task`: PEFT's name of
/// the model's task; empty for none.
///
/// Returns what users may want to know, one line each.
/// Errors: kInvalid if there is something at `path`; kIo.
std::vector<std::string> write_peft_adapter(const AdapterFile& from,
                                            const std::vector<NewPair>& pairs,
                                            const std::string& task, const std::string& path);

}  // namespace ingot
