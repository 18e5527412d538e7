// Base64 decoding, for bytes in JSON files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ingot {

/// Decodes base64. Returns nothing for malformed text: a character outside the alphabet, missing or
/// misplaced padding, or unused bits that are set.
///
/// Source:  RFC 4648, section 4.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace ingot
