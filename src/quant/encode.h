// Rounds rows of floats to weight formats.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/formats.h"

namespace ingot {

/// Whether encode_row supports `format`: the dense formats, Q8_0, Q4_0, Q5_0, Q5_1, Q4_K, Q5_K and
/// Q6_K.
bool can_encode(Format format);

/// The format for rows of `cols` when `wanted` is asked for. Where its weight block does not divide
/// `cols`, the replacement that common tools choose: Q5_0 for Q4_K, Q5_1 for Q5_K, Q8_0 for Q6_K;
/// where that does not fit either, F16.
Format format_for_rows(Format wanted, std::int64_t cols);

/// Writes a row of floats in `format`. Q8_0, Q4_0, Q5_0 and Q5_1 get the bytes that ggml writes;
/// the K formats, and Q5_1 with an importance, a search for the smallest squared error.
///
/// `importance` is the factor of each weight's squared error; null: all are 1. The dense formats
/// and Q8_0 ignore it, since rounding to nearest is best for any factors.
///
/// Shapes: x [cols], out [row_bytes(format, cols)] of any alignment, importance [cols] or nullptr.
/// Errors: kInvalid for a value that is not finite or too large for the format, and for an
///         importance that is negative or not finite. A format without an encoder is a bug, as are
///         cols that row_bytes does not take.
void encode_row(Format format, const float* x, std::int64_t cols, std::byte* out,
                const float* importance = nullptr);

}  // namespace ingot
