// The built-in model: a GGUF file inside the program.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace ingot {

/// The built-in model's name, which can be given as MODEL.
inline constexpr std::string_view kBuiltInModel = "ingot-demo";

/// The bytes of the built-in model's GGUF file, valid as long as the program runs.
std::span<const std::byte> built_in_model();

}  // namespace ingot
