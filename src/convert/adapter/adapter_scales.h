// Alpha of adapters to write: a scale is alpha / rank, and GGUF has one alpha for all pairs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "convert/adapter/adapter_pairs.h"

namespace ingot {

/// Returns the alpha for which alpha / rank is the scale, as the engine reads it. If a float32 is
/// such an alpha, returns this one.
double alpha_of(double scale, std::int64_t rank);

/// One alpha for all pairs, and what B of each pair must be multiplied by.
struct SharedAlpha {
  float alpha = 0;              ///< 0 if all scales are 0
  std::vector<double> factors;  ///< by pair; 1 where alpha / rank is the pair's scale
  bool exact = true;            ///< whether all factors are 1, 0 or powers of 2
};

/// Chooses the alpha of most pairs. Powers of 2 change no bit of an adapter's results.
SharedAlpha share_alpha(std::span<const NewPair> pairs);

}  // namespace ingot
