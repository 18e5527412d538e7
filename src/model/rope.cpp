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

/// Relative positions from this distance on share a bucket.
constexpr std::int64_t kDistanceMax = 128;

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

/// LongRoPE: divides each pair's frequency by its factor, and scales cosines and sines.
void scale_longrope(const RopeScaling& s, std::int64_t context, RopeSpec& r) {
  const bool is_long = static_cast<double>(context) > s.original_context;
  const std::vector<double>& factors = is_long ? s.long_factors : s.short_factors;
  INGOT_CHECK(factors.size() == r.inverse_frequency.size(), factors.size(), " rotary factors");
  for (std::size_t i = 0; i < factors.size(); ++i) r.inverse_frequency[i] /= factors[i];
  const double usual =
      s.factor <= 1 ? 1.0 : __builtin_sqrt(1 + math::log(s.factor) / math::log(s.original_context));
  r.factor = s.attention_factor.value_or(usual);
}

Tensor upload_table(Backend& backend, const std::vector<float>& values, std::int64_t positions,
                    std::int64_t pairs) {
  Tensor t = backend.upload(values);
  t.view = {t.view.data, t.view.format, positions, pairs, pairs * std::int64_t{sizeof(float)}};
  return t;
}

}  // namespace

RopeSpec rope_spec(const RopeConfig& c, std::int64_t context) {
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
      scale_longrope(s, context, r);
      break;
    case RopeScaling::Kind::kProportional:
      // The other pairs stay in the table with angle 0: kernels take `dims` for the number of
      // rotated elements and for the distance between the two of a pair.
      for (std::int64_t i = 0; i < r.dims / 2; ++i) {
        double& f = at(r.inverse_frequency, i);
        f = i < s.pairs ? f / s.factor : 0;
      }
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

namespace {

/// The bucket of a distance: positions after the query have the second half of the buckets.
std::int64_t bucket_of(std::int64_t relative, std::int64_t buckets) {
  const std::int64_t half = buckets / 2;
  const std::int64_t exact = half / 2;
  const std::int64_t first = relative > 0 ? half : 0;
  const std::int64_t distance = relative < 0 ? -relative : relative;
  if (distance < exact) return first + distance;
  const double share = math::log(static_cast<double>(distance) / static_cast<double>(exact)) /
                       math::log(static_cast<double>(kDistanceMax) / static_cast<double>(exact));
  // Where a bucket begins at a whole number, rounding must not give the bucket below.
  constexpr double kRounding = 1e-9;
  const auto more =
      static_cast<std::int64_t>(share * static_cast<double>(half - exact) + kRounding);
  return first + std::min(exact + more, half - 1);
}

}  // namespace

std::vector<float> relative_biases(const std::vector<float>& biases, std::int64_t heads) {
  const std::int64_t buckets = std::ssize(biases) / heads;
  std::vector<float> table;
  for (std::int64_t head = 0; head < heads; ++head) {
    for (std::int64_t r = -kDistanceMax; r <= kDistanceMax; ++r) {
      table.push_back(at(biases, bucket_of(r, buckets) * heads + head));
    }
  }
  return table;
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
