// Encoders that quantise floats to formats with blocks of 32 weights.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/q4_0.h"
#include "quant/q5_0.h"
#include "quant/q5_1.h"
#include "quant/q8_0.h"

namespace ingot {

/// Rounds 32 weights to a block with the bytes that ggml would write.
///
/// Shapes: x [32].
/// Errors: kInvalid if the values are too large for the format.
void encode_block(const float* x, Q8_0::Block& out);
void encode_block(const float* x, Q4_0::Block& out);
void encode_block(const float* x, Q5_0::Block& out);
void encode_block(const float* x, Q5_1::Block& out);

/// Rounds 32 weights to a block. weight[k] is the factor of the squared error of x[k]. For Q4_0 and
/// Q5_0, writes the bytes that ggml would write. For Q5_1, searches for the smallest error.
///
/// Shapes: x, weight [32].
void encode_block(const float* x, const double* weight, Q4_0::Block& out);
void encode_block(const float* x, const double* weight, Q5_0::Block& out);
void encode_block(const float* x, const double* weight, Q5_1::Block& out);

}  // namespace ingot
