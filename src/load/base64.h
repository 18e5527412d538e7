// Bytes that a JSON file holds as text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ingot {

/// The bytes that `text` stands for in base 64; nothing when it is malformed: another character,
/// padding missing or in the wrong place, bits set behind the last byte.
///
/// Source:  RFC 4648, section 4.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace ingot
