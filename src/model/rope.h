// Rotary embeddings: their frequencies, and tables of cosines and sines by position.
#pragma once

#include <span>
#include <vector>

#include "backend/backend.h"
#include "load/config.h"
#include "model/spec.h"

namespace ingot {

/// Computes the frequencies of a rotary embedding, with its scaling. Longrope has its long factors
/// if `context` is above the original context, else its short ones.
///
/// Source: linear: Chen et al., arXiv:2306.15595. YaRN: arXiv:2309.00071, with the correction
/// range of transformers and of GGUF readers. llama3: the Llama 3.1 release's frequency bands.
/// LongRoPE: arXiv:2402.13753.
RopeSpec rope_spec(const RopeConfig& config, std::int64_t context = 0);

/// Divides each pair's frequency by the pair's divisor. GGUF's rope_freqs.weight has the divisors.
void divide_frequencies(RopeSpec& rope, std::span<const float> divisors);

/// Spreads attention biases of buckets over relative positions, the key's minus the query's. Each
/// of the first and last buckets' halves has an exact part, and grows logarithmically up to 128.
///
/// Source: T5, arXiv:1910.10683, section 2.1; MPNet, arXiv:2004.09297, and its published code.
/// Shapes: biases [buckets, heads]; result [heads, 2 * 128 + 1].
std::vector<float> relative_biases(const std::vector<float>& biases, std::int64_t heads);

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
