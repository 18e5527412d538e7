// The control tokens whose names a model's replies keep.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "text/tokenizer/tokenizer.h"

namespace ingot {

/// Returns the control tokens that have one of these names, such as the markers of a ToolDialect.
std::vector<std::int32_t> marker_tokens(const Tokenizer& tokenizer,
                                        std::span<const std::string> names);

}  // namespace ingot
