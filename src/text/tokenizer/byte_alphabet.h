// GPT-2's byte alphabet: 256 printable characters that stand for bytes in vocabularies and merges.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ingot {

/// Returns the character for a byte. A printable Latin-1 byte stands for itself. The other 68 bytes
/// become U+0100 to U+0143, in order.
///
/// Source:  GPT-2's encoder.py, bytes_to_unicode.
char32_t byte_to_letter(std::uint8_t byte);

/// Returns the bytes that `text` spells; nothing if a character is not in GPT-2's byte alphabet.
std::optional<std::string> letters_to_bytes(std::string_view text);

}  // namespace ingot
