// Encoders of the formats with blocks of 32 weights.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/q4_0.h"
#include "quant/q5_0.h"
#include "quant/q5_1.h"
#include "quant/q8_0.h"

namespace ingot {

/// Rounds 32 weights to a block, for each format with the bytes that ggml writes.
///
/// Shapes: x [32].
/// Errors: kInvalid when the values are too large for the format.
void encode_block(const float* x, Q8_0::Block& out);
void encode_block(const float* x, Q4_0::Block& out);
void encode_block(const float* x, Q5_0::Block& out);
void encode_block(const float* x, Q5_1::Block& out);

/// The same where the squared error of each weight counts differently: for Q4_0 and Q5_0 with the
/// bytes that ggml writes, for Q5_1 by a search for the smallest error.
///
/// Shapes: x, weight [32].
void encode_block(const float* x, const double* weight, Q4_0::Block& out);
void encode_block(const float* x, const double* weight, Q5_0::Block& out);
void encode_block(const float* x, const double* weight, Q5_1::Block& out);

}  // namespace ingot
