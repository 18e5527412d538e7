// Sampling: from a row of logits to a token, as a pure function of row, parameters and position.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace ingot {

/// How a token is drawn.
struct SamplingParams {
  float temperature = 0;     ///< 0 = the most likely token, ties to the lower id
  std::uint64_t seed = 0;    ///< equal seeds draw equal tokens from equal rows
  std::uint32_t choice = 0;  ///< which of several continuations of one prompt
};

/// The token number `index` (counted from the first generated one) of a continuation.
///
/// Only ids below `ids` are drawn: embedding matrices may have more rows than the tokenizer has
/// tokens. Nothing is returned for a row that holds NaN or in which no token is possible (all
/// -Inf).
/// Source of the noise: Philox4x32-10 with the seed's 64 bits as key and (index, choice) as
/// counter.
std::optional<std::int32_t> sample(std::span<const float> logits, std::int64_t ids,
                                   const SamplingParams& params, std::uint64_t index);

}  // namespace ingot
