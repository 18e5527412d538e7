// The tokens that stand for single bytes, "<0x00>" to "<0xFF>".
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// Tokens by the byte that they stand for.
using ByteIds = std::array<std::int32_t, 256>;

/// The byte tokens of a vocabulary that falls back on them; nothing where it does not or has none.
///
/// Errors:  vocabulary_error for a byte token that is none, a byte with two, and fewer than 256.
std::optional<ByteIds> read_byte_ids(const TokenizerData& data);

}  // namespace ingot
