// The model that is part of the program.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace ingot {

/// What MODEL calls it.
inline constexpr std::string_view kBuiltInModel = "ingot-demo";

/// Its GGUF file, for as long as the program runs.
std::span<const std::byte> built_in_model();

}  // namespace ingot
