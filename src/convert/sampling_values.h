// write_sampling: writes the sampling defaults of generation_config.json as GGUF keys.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "load/gguf/gguf_writer.h"
#include "load/json.h"

namespace ingot {

/// A sampling parameter for which GGUF has a key.
struct SamplingKey {
  std::string_view name;  ///< member of generation_config.json
  std::string_view key;   ///< key in GGUF after "general.sampling."
  bool whole = false;     ///< whether values are integers
};

/// Sets a key for each number of `stated`, the contents of generation_config.json. Readers judge
/// the number's range, as they do for a folder.
///
/// Adds a line to `warnings` with the members that are not stored: no key, or a value that the
/// key's type does not have. Ids of tokens have keys of the tokenizer, and readers of GGUF always
/// sample: neither these ids nor `do_sample: true` is named.
/// Source: llama.cpp, gguf-py: constants.py (Keys.General) and types of the add_sampling functions.
void write_sampling(const Json& stated, std::span<const SamplingKey> keys, GgufValues& out,
                    std::vector<std::string>& warnings);

}  // namespace ingot
