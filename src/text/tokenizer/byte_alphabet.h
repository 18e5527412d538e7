// GPT-2's alphabet: 256 printable characters that represent bytes in vocabularies and merges.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ingot {

/// The character for a byte: printable Latin-1 bytes map to themselves, the other 68 to U+0100 and
/// up, in order.
///
/// Source:  GPT-2's encoder.py, bytes_to_unicode.
char32_t byte_to_letter(std::uint8_t byte);

/// The bytes of a text in the alphabet; nothing when a character is outside it.
std::optional<std::string> letters_to_bytes(std::string_view text);

}  // namespace ingot
