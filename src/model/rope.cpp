// Computes rotary frequencies and tables with base/math_double, since libm's results differ.
#include "model/rope.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "base/index.h"
#include "base/math_double.h"

namespace ingot {

namespace {

constexpr double kPi = 3.14159265358979323846;

/// Llama 3.1: divides low frequencies by the factor, keeps high ones, and blends in between.
void scale_llama3(const RopeScaling& s, std::vector<double>& frequency) {
  const double low_wavelength = s.original_context / s.low_freq_factor;
  const double high_wavelength = s.original_context / s.high_freq_factor;
  for (double& f : frequency) {
    const double wavelength = 2 * kPi / f;
    if (wavelength < high_wavelength) continue;
    if (wavelength > low_wavelength) {
      f /= s.factor;
      continue;
    }
    const double smooth = (s.original_context / wavelength - s.low_freq_factor) /
                          (s.high_freq_factor - s.low_freq_factor);
    f = (1 - smooth) * f / s.factor + smooth * f;
  }
}

/// The index, not rounded, of the pair that rotates `rotations` times in the original context.
double yarn_dimension(double rotations, double dims, double theta, double context) {
  return dims * math::log(context / (rotations * 2 * kPi)) / (2 * math::log(theta));
}

/// YaRN: pairs that rotate often keep their frequency, pairs that rotate rarely are divided by the
/// factor, with a linear ramp in between.
void scale_yarn(const RopeScaling& s, double dims, double theta, std::vector<double>& frequency) {
  double low = yarn_dimension(s.beta_fast, dims, theta, s.original_context);
  double high = yarn_dimension(s.beta_slow, dims, theta, s.original_context);
  if (s.truncate) {
    low = __builtin_floor(low);
    high = __builtin_ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, dims - 1);
  if (low == high) high += 0.001;  // prevents a division by zero, as in the published code
  for (std::size_t i = 0; i < frequency.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    frequency[i] = frequency[i] / s.factor * ramp + frequency[i] * (1 - ramp);
  }
}

Tensor upload_table(Backend& backend, const std::vector<float>& values, std::int64_t positions,
                    std::int64_t pairs) {
  Tensor t = backend.upload(values);
  t.view = {t.view.data, t.view.format, positions, pairs, pairs * std::int64_t{sizeof(float)}};
  return t;
}

}  // namespace

RopeSpec rope_spec(const RopeConfig& c) {
  RopeSpec r;
  r.adjacent_pairs = c.style == RopeStyle::kAdjacent;
  r.dims = static_cast<std::int32_t>(c.dims);
  const auto dims = static_cast<double>(c.dims);
  for (std::int32_t i = 0; i < r.dims / 2; ++i) {
    r.inverse_frequency.push_back(math::pow(c.theta, -2.0 * i / dims));
  }
  const RopeScaling& s = c.scaling;
  switch (s.kind) {
    case RopeScaling::Kind::kNone:
      break;
    case RopeScaling::Kind::kLinear:
      for (double& f : r.inverse_frequency) f /= s.factor;
      break;
    case RopeScaling::Kind::kLlama3:
      scale_llama3(s, r.inverse_frequency);
      break;
    case RopeScaling::Kind::kLongrope:
    case RopeScaling::Kind::kProportional:
      INGOT_CHECK(false, "a rotary scaling without frequencies");
      break;
    case RopeScaling::Kind::kYarn:
      scale_yarn(s, dims, c.theta, r.inverse_frequency);
      r.factor = s.attention_factor.value_or(s.factor <= 1 ? 1.0 : 0.1 * math::log(s.factor) + 1);
      break;
  }
  return r;
}

void divide_frequencies(RopeSpec& rope, std::span<const float> divisors) {
  INGOT_CHECK(divisors.size() == rope.inverse_frequency.size(), divisors.size(), " divisors");
  for (std::size_t i = 0; i < divisors.size(); ++i) {
    rope.inverse_frequency[i] /= static_cast<double>(divisors[i]);
  }
}

std::int64_t rope_table_bytes(const RopeSpec& rope, std::int64_t positions) {
  return 2 * positions * (rope.dims / 2) * std::int64_t{sizeof(float)};
}

RopeTensors make_rope_table(Backend& backend, const RopeSpec& rope, std::int64_t positions) {
  const std::int64_t pairs = rope.dims / 2;
  std::vector<float> cosines, sines;
  cosines.reserve(to_size(positions * pairs));
  sines.reserve(cosines.capacity());
  for (std::int64_t p = 0; p < positions; ++p) {
    for (const double f : rope.inverse_frequency) {
      const double angle = static_cast<double>(p) * f;
      cosines.push_back(static_cast<float>(math::cos(angle) * rope.factor));
      sines.push_back(static_cast<float>(math::sin(angle) * rope.factor));
    }
  }
  RopeTensors r{.cos = upload_table(backend, cosines, positions, pairs),
                .sin = upload_table(backend, sines, positions, pairs),
                .table = {}};
  r.table = {.adjacent_pairs = rope.adjacent_pairs,
             .dims = rope.dims,
             .cos = r.cos.view,
             .sin = r.sin.view};
  return r;
}

}  // namespace ingot
