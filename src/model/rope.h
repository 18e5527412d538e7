// Rotary embeddings: frequencies from a configuration, and tables of cosines and sines by position.
#pragma once

#include <span>

#include "backend/backend.h"
#include "load/config.h"
#include "model/spec.h"

namespace ingot {

/// The frequencies of `config`, with its scaling applied.
///
/// Source: linear: Chen et al., arXiv:2306.15595. YaRN: arXiv:2309.00071, with the bounds of
/// transformers' and GGUF's readers. llama3: the Llama 3.1 release's frequency bands.
RopeSpec rope_spec(const Config& config);

/// Divides each pair's frequency by a checkpoint's own factor (GGUF's rope_freqs.weight).
void divide_frequencies(RopeSpec& rope, std::span<const float> divisors);

/// Bytes of a table for `positions` positions.
std::int64_t rope_table_bytes(const RopeSpec& rope, std::int64_t positions);

/// A table with its memory.
struct RopeTensors {
  Tensor cos;
  Tensor sin;
  RopeTable table;
};

/// cos and sin of position * frequency, times the factor: computed in double, rounded once.
RopeTensors make_rope_table(Backend& backend, const RopeSpec& rope, std::int64_t positions);

}  // namespace ingot
