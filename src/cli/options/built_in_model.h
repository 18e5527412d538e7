// The built-in model: a GGUF file inside the program.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace ingot {

/// The built-in model's name. Users can give it as MODEL.
inline constexpr std::string_view kBuiltInModel = "ingot-demo";

/// Returns the bytes of the built-in model's GGUF file, valid until the program ends.
std::span<const std::byte> built_in_model();

}  // namespace ingot
