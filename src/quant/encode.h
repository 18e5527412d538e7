// Quantises rows of floats to weight formats.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/formats.h"

namespace ingot {

/// Returns whether encode_row supports `format`: the dense formats, Q8_0, Q4_0, Q5_0, Q5_1, Q4_K,
/// Q5_K and Q6_K.
bool can_encode(Format format);

/// Returns `wanted` if its block size divides `cols`. Otherwise returns the replacement that common
/// tools choose: Q5_0 for Q4_K, Q5_1 for Q5_K, Q8_0 for Q6_K. If the block size of the replacement
/// does not divide `cols` either, returns F16.
Format format_for_rows(Format wanted, std::int64_t cols);

/// Encodes a row of floats in `format`. Q8_0, Q4_0, Q5_0, and Q5_1 without importance, get the
/// bytes of ggml. K formats, and Q5_1 with importance, get the codes with the smallest error found.
///
/// `importance` is the factor of each weight's squared error; null: all factors are 1. The dense
/// formats and Q8_0 ignore it, since rounding to nearest is best for any factors.
///
/// Shapes: x [cols], out [row_bytes(format, cols)] of any alignment, importance [cols] or nullptr.
/// Errors: kInvalid if a value is not finite or too large for the format, or if an importance is
///         negative or not finite. A format without an encoder is a bug, and so is a row
///         length `cols` that row_bytes does not accept.
void encode_row(Format format, const float* x, std::int64_t cols, std::byte* out,
                const float* importance = nullptr);

}  // namespace ingot
