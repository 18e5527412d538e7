// Parses file names of split GGUF models: STEM-00001-of-00003.gguf.
#pragma once

#include <optional>
#include <string_view>

namespace ingot {

/// The parsed name of a part. The numbers are 0 to 99,999 and not checked further.
struct SplitName {
  std::string_view stem;
  int part = 0;  ///< counts from 1
  int parts = 0;
};

/// Parses the name of a part; nothing if `name` has another form.
///
/// Source: llama.cpp, tools/gguf-split.
std::optional<SplitName> parse_split_name(std::string_view name);

}  // namespace ingot
