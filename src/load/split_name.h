// Parses file names of split GGUF models: STEM-00001-of-00003.gguf.
#pragma once

#include <optional>
#include <string_view>

namespace ingot {

/// The parsed name of one file of a split model. The two numbers may have any values up to 99,999.
struct SplitName {
  std::string_view stem;
  int part = 0;  ///< number of the file; the first file has number 1
  int parts = 0;
};

/// Parses the name of one file of a split model. Returns nothing if `name` has another form.
///
/// Source: llama.cpp, tools/gguf-split.
std::optional<SplitName> parse_split_name(std::string_view name);

}  // namespace ingot
