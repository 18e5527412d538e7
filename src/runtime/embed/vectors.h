// Functions on embeddings in host memory: shorten them, and scale them to length 1.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ingot {

/// Scales a vector to length 1, in the order of Backend::normalise. Zeros stay zeros.
void normalise(std::span<float> values);

/// Keeps the first `dimensions` values. If `is_normalised`, scales the result to length 1 again. A
/// vector that has no more values stays as it is.
void shorten(std::vector<float>& values, std::int64_t dimensions, bool is_normalised);

/// Formats a vector as a JSON array, with the fewest digits that give the same floats back.
std::string json_list(std::span<const float> values);

}  // namespace ingot
