// Finds the byte tokens of a vocabulary, "<0x00>" to "<0xFF>".
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// The id of each byte's token, by byte.
using ByteIds = std::array<std::int32_t, 256>;

/// Returns the byte tokens of a vocabulary; nothing if it has none or `byte_fallback` is false.
///
/// Errors:  vocabulary_error for a malformed byte token, two tokens for a byte, or a missing byte.
std::optional<ByteIds> read_byte_ids(const TokenizerData& data);

}  // namespace ingot
