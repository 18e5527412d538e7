// Functions on embeddings in host memory.
#include "runtime/embed/vectors.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>

#include "base/index.h"

namespace ingot {

void normalise(std::span<float> values) {
  constexpr std::size_t kLanes = 16;
  std::array<float, kLanes> lanes{};
  for (std::size_t i = 0; i < values.size(); ++i) {
    float& lane = lanes[i % kLanes];
    lane = std::fma(values[i], values[i], lane);
  }
  for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  if (lanes[0] == 0) return;
  const float inverse = 1 / std::sqrt(lanes[0]);
  for (float& v : values) v *= inverse;
}

void shorten(std::vector<float>& values, std::int64_t dimensions, bool is_normalised) {
  if (dimensions >= std::ssize(values)) return;
  values.resize(to_size(dimensions));
  if (is_normalised) normalise(values);
}

std::string json_list(std::span<const float> values) {
  std::string text = "[";
  char digits[32];
  for (const float v : values) {
    if (text.size() > 1) text += ',';
    text.append(digits, std::to_chars(digits, digits + sizeof digits, v).ptr);
  }
  return text + "]";
}

}  // namespace ingot
