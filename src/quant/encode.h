// Rounding rows of floats to weight formats.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/formats.h"

namespace ingot {

/// Whether encode_row knows `format`: the dense formats, Q8_0, Q4_0, Q5_0, Q5_1, Q4_K, Q5_K and
/// Q6_K.
bool can_encode(Format format);

/// The format for rows of `cols` where `wanted` is asked for: itself, or where its blocks do not
/// divide them the next one that does, as the common tools choose it: Q5_0 for Q4_K, Q5_1 for Q5_K,
/// Q8_0 for Q6_K, and at last F16.
Format format_for_rows(Format wanted, std::int64_t cols);

/// Writes a row of floats in `format`: for Q8_0, Q4_0, Q5_0 and Q5_1 the bytes that ggml writes,
/// for the others the result of a search for the scales and codes of the smallest squared error; so
/// for Q5_1 with an importance.
///
/// `importance` says how much the squared error of each weight counts; without it all count alike.
/// The dense formats and Q8_0 have no choice to make and ignore it.
///
/// Shapes: x [cols], out [row_bytes(format, cols)] of any alignment, importance [cols] or nullptr.
/// Errors: kInvalid for a value that is not finite or too large for the format, and for an
///         importance that is negative or not finite. A format without an encoder is a bug, and
///         cols as for row_bytes.
void encode_row(Format format, const float* x, std::int64_t cols, std::byte* out,
                const float* importance = nullptr);

}  // namespace ingot
