// Encoders of the formats with weight blocks of 32.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/q4_0.h"
#include "quant/q5_0.h"
#include "quant/q5_1.h"
#include "quant/q8_0.h"

namespace ingot {

/// Rounds 32 weights to a weight block, to the bytes that ggml writes.
///
/// Shapes: x [32].
/// Errors: kInvalid when the values are too large for the format.
void encode_block(const float* x, Q8_0::Block& out);
void encode_block(const float* x, Q4_0::Block& out);
void encode_block(const float* x, Q5_0::Block& out);
void encode_block(const float* x, Q5_1::Block& out);

/// As above, where `weight` is the factor of each squared error: Q4_0 and Q5_0 to the bytes that
/// ggml writes, Q5_1 by a search for the smallest error.
///
/// Shapes: x, weight [32].
void encode_block(const float* x, const double* weight, Q4_0::Block& out);
void encode_block(const float* x, const double* weight, Q5_0::Block& out);
void encode_block(const float* x, const double* weight, Q5_1::Block& out);

}  // namespace ingot
