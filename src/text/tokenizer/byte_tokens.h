// Reads the byte tokens of a vocabulary, "<0x00>" to "<0xFF>".
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// Byte tokens by their byte.
using ByteIds = std::array<std::int32_t, 256>;

/// The byte tokens of a vocabulary with byte fallback; nothing without fallback or byte tokens.
///
/// Errors:  vocabulary_error for a malformed byte token, two for one byte, or fewer than 256.
std::optional<ByteIds> read_byte_ids(const TokenizerData& data);

}  // namespace ingot
