// Rotary embeddings: their frequencies, and tables of cosines and sines by position.
#pragma once

#include <span>

#include "backend/backend.h"
#include "load/config.h"
#include "model/spec.h"

namespace ingot {

/// Computes the frequencies of a rotary embedding, with its scaling.
///
/// Source: linear: Chen et al., arXiv:2306.15595. YaRN: arXiv:2309.00071, with the correction
/// range of transformers and of GGUF readers. llama3: the Llama 3.1 release's frequency bands.
RopeSpec rope_spec(const RopeConfig& config);

/// Divides each pair's frequency by the pair's divisor. GGUF's rope_freqs.weight has the divisors.
void divide_frequencies(RopeSpec& rope, std::span<const float> divisors);

/// Returns the bytes of the cosine and sine tables for `positions` positions.
std::int64_t rope_table_bytes(const RopeSpec& rope, std::int64_t positions);

/// A rotary table, and the device memory to which it points.
struct RopeTensors {
  Tensor cos;
  Tensor sin;
  RopeTable table;
};

/// Computes tables of factor * cos(a) and factor * sin(a) in doubles; a is position * frequency.
RopeTensors make_rope_table(Backend& backend, const RopeSpec& rope, std::int64_t positions);

}  // namespace ingot
