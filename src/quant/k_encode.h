// Encoders of the K formats (blocks of 256 weights), which search for the smallest squared error.
#pragma once

#include "quant/q4_k.h"
#include "quant/q5_k.h"
#include "quant/q6_k.h"

namespace ingot {

/// Rounds 256 weights to a block of Q4_K.
///
/// Shapes: x, weight [256]; weight[k] >= 0 is the factor of the squared error of x[k].
/// Errors: kInvalid if the values are too large for the format.
void encode_block(const float* x, const float* weight, Q4_K::Block& out);

/// Rounds 256 weights to a block of Q5_K. Shapes and errors are those of Q4_K.
void encode_block(const float* x, const float* weight, Q5_K::Block& out);

/// Rounds 256 weights to a block of Q6_K. Shapes and errors are those of Q4_K.
void encode_block(const float* x, const float* weight, Q6_K::Block& out);

}  // namespace ingot
