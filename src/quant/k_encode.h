// Encoders of the K formats Q4_K, Q5_K and Q6_K, which search for the smallest squared error.
#pragma once

#include "quant/q4_k.h"
#include "quant/q5_k.h"
#include "quant/q6_k.h"

namespace ingot {

/// Rounds the 256 values `x` to a block of Q4_K. Searches for the smallest weighted squared error.
///
/// Shapes: x, weight [256]. Each weight[k] >= 0 multiplies the squared error of x[k].
/// Errors: kInvalid if the values are too large for the format.
void encode_block(const float* x, const float* weight, Q4_K::Block& out);

/// Rounds the 256 values `x` to a block of Q5_K. Shapes and errors: see the overload for Q4_K.
void encode_block(const float* x, const float* weight, Q5_K::Block& out);

/// Rounds the 256 values `x` to a block of Q6_K. Shapes and errors: see the overload for Q4_K.
void encode_block(const float* x, const float* weight, Q6_K::Block& out);

}  // namespace ingot
