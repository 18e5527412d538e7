// GPT-2's alphabet of 256 printable characters that stand for bytes in vocabularies and merges.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ingot {

/// The character that stands for a byte: printable Latin-1 bytes for themselves, the other 68 from
/// U+0100 on in order.
///
/// Source:  GPT-2's encoder.py, bytes_to_unicode.
char32_t byte_to_letter(std::uint8_t byte);

/// The bytes that a text in the alphabet stands for; nothing when a character is not in it.
std::optional<std::string> letters_to_bytes(std::string_view text);

}  // namespace ingot
