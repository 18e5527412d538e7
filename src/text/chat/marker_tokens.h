// The control tokens whose names a model's replies keep.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "text/tokenizer/tokenizer.h"

namespace ingot {

/// Returns the control tokens that have one of these names, such as the markers of a ToolDialect:
/// at most `most` of the model's first `ids` tokens.
std::vector<std::int32_t> marker_tokens(const Tokenizer& tokenizer,
                                        std::span<const std::string> names, std::int64_t ids,
                                        std::size_t most);

}  // namespace ingot
