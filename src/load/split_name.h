// Names of the parts of a split GGUF model: STEM-00001-of-00003.gguf.
#pragma once

#include <optional>
#include <string_view>

namespace ingot {

/// A part's name, parsed. Both numbers are unchecked: 0 to 99,999.
struct SplitName {
  std::string_view stem;
  int part = 0;  ///< the first is 1
  int parts = 0;
};

/// Reads the name of a part; nothing for another name.
///
/// Source: llama.cpp, tools/gguf-split.
std::optional<SplitName> parse_split_name(std::string_view name);

}  // namespace ingot
