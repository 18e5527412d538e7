// Encoding of rows: checks, the dense and the simple block formats, and dispatch.
#include "quant/encode.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "base/check.h"
#include "base/error.h"
#include "base/text.h"
#include "quant/k_encode.h"
#include "quant/k_search.h"

namespace ingot {

namespace {

using k_search::scale_to_half;

template <class T>
constexpr bool kEncodable = DenseFormat<T> || std::is_same_v<T, Q8_0> || std::is_same_v<T, Q4_0> ||
                            std::is_same_v<T, Q4_K> || std::is_same_v<T, Q6_K>;

void check_values(const float* x, std::int64_t cols, const float* importance) {
  for (std::int64_t k = 0; k < cols; ++k) {
    if (!std::isfinite(x[k])) {
      throw Error(ErrorCode::kInvalid, cat("cannot encode weights: value ", k, " is ", x[k]));
    }
    if (importance != nullptr && !(importance[k] >= 0 && std::isfinite(importance[k]))) {
      throw Error(ErrorCode::kInvalid, cat("importance ", k, " is ", importance[k],
                                           ", expected a finite number of at least 0"));
    }
  }
}

/// The value of the largest magnitude, with its sign; the first one of several.
float extreme(const float* x) {
  float found = 0;
  for (int k = 0; k < kGroup; ++k) {
    if (std::fabs(x[k]) > std::fabs(found)) found = x[k];
  }
  return found;
}

/// `factor`, or 0 where it is not finite: it is the inverse of a scale that is zero in F16.
float usable(float factor) { return std::isfinite(factor) ? factor : 0.0f; }

/// Scale: the largest magnitude stands at 127. Codes: nearest, halves away from zero (as ggml).
void encode_block(const float* x, Q8_0::Block& out) {
  const float d = std::fabs(extreme(x)) / 127.0f;
  const float factor = usable(1.0f / d);
  out.d = scale_to_half(d, Q8_0::kName);
  for (int k = 0; k < kGroup; ++k) out.qs[k] = static_cast<std::int8_t>(std::round(x[k] * factor));
}

bool all_zero(const float* values, int count) {
  return std::all_of(values, values + count, [](float v) { return v == 0; });
}

void store_nibbles(const int* code, std::uint8_t* packed) {
  for (int k = 0; k < 16; ++k) packed[k] = static_cast<std::uint8_t>(code[k] | (code[k + 16] << 4));
}

/// Scale: the value of the largest magnitude stands at -8. Codes: nearest, halves up, at most 15
/// (as ggml).
void encode_block(const float* x, Q4_0::Block& out) {
  const float d = extreme(x) / -8.0f;
  const float factor = usable(1.0f / d);
  out.d = scale_to_half(d, Q4_0::kName);
  int code[kGroup];
  for (int k = 0; k < kGroup; ++k) {
    code[k] = std::min(15, static_cast<int>(x[k] * factor + 8.5f));
  }
  store_nibbles(code, out.qs);
}

/// With an importance: of 19 roundings, whose scales put the largest magnitude at -7.1 to -8.9, the
/// one whose least-squares scale leaves the smallest error. `weight` is what each squared error
/// counts. The order of the candidates and halves to even are part of the bytes (as ggml).
void encode_block(const float* x, const double* weight, Q4_0::Block& out) {
  constexpr int kTenths[] = {0, -9, -8, -7, -6, -5, -4, -3, -2, -1, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  const float largest = extreme(x);
  double best_scale = 0;
  double best_gain = 0;
  int best[kGroup];
  std::fill_n(best, kGroup, 8);
  for (const int tenths : kTenths) {
    const float factor = usable(-(8.0f + 0.1f * static_cast<float>(tenths)) / largest);
    int q[kGroup];
    double xq = 0;
    double qq = 0;
    for (int k = 0; k < kGroup; ++k) {
      q[k] = std::clamp(static_cast<int>(std::nearbyint(factor * x[k])), -8, 7);
      xq += weight[k] * x[k] * q[k];
      qq += weight[k] * q[k] * q[k];
    }
    if (!(qq > 0 && xq * xq > best_gain * qq)) continue;
    best_scale = xq / qq;
    best_gain = best_scale * xq;
    for (int k = 0; k < kGroup; ++k) best[k] = q[k] + 8;
  }
  out.d = scale_to_half(best_scale, Q4_0::kName);
  store_nibbles(best, out.qs);
}

double mean_square(const float* x, std::int64_t cols) {
  double sum = 0;
  for (std::int64_t k = 0; k < cols; ++k) sum += static_cast<double>(x[k]) * x[k];
  return sum / static_cast<double>(cols);
}

template <class T>
void put(const T& unit, std::byte*& out) {
  std::memcpy(out, &unit, sizeof unit);
  out += sizeof unit;
}

template <DenseFormat T>
void encode_dense(const float* x, std::int64_t cols, std::byte* out) {
  for (std::int64_t k = 0; k < cols; ++k) {
    const typename T::Element element = T::narrow(x[k]);
    if (!std::isfinite(T::widen(element))) {
      throw Error(ErrorCode::kInvalid,
                  cat("value ", k, " is too large for ", T::kName, ": ", x[k]));
    }
    put(element, out);
  }
}

void encode_q8_0(const float* x, std::int64_t cols, std::byte* out) {
  for (std::int64_t k = 0; k < cols; k += Q8_0::kBlock) {
    Q8_0::Block block;
    encode_block(x + k, block);
    put(block, out);
  }
}

/// With an importance, large weights count more than small ones, by the row's mean square (as
/// ggml). A block whose importances are all zero is rounded as if it had none.
void encode_q4_0(const float* x, std::int64_t cols, std::byte* out, const float* importance) {
  const double spread = importance != nullptr ? mean_square(x, cols) : 0;
  for (std::int64_t k = 0; k < cols; k += Q4_0::kBlock) {
    Q4_0::Block block;
    if (importance == nullptr || all_zero(importance + k, kGroup)) {
      encode_block(x + k, block);
    } else {
      double weight[kGroup];
      for (int i = 0; i < kGroup; ++i) {
        const double value = x[k + i];
        weight[i] = importance[k + i] * std::sqrt(spread + value * value);
      }
      encode_block(x + k, weight, block);
    }
    put(block, out);
  }
}

/// A sub-block whose importances are all zero (no calibration data reached it) is rounded as if it
/// had none.
template <class T>
void encode_k(const float* x, std::int64_t cols, std::byte* out, const float* importance) {
  constexpr int kPart = kGroup / T::kScales;
  for (std::int64_t k = 0; k < cols; k += T::kBlock) {
    float weight[T::kBlock];
    std::fill_n(weight, T::kBlock, 1.0f);
    for (int part = 0; importance != nullptr && part < T::kBlock; part += kPart) {
      const float* own = importance + k + part;
      if (!all_zero(own, kPart)) std::copy_n(own, kPart, weight + part);
    }
    typename T::Block block;
    encode_block(x + k, weight, block);
    put(block, out);
  }
}

}  // namespace

bool can_encode(Format format) {
  return visit_format(format, []<class T>() { return kEncodable<T>; });
}

void encode_row(Format format, const float* x, std::int64_t cols, std::byte* out,
                const float* importance) {
  INGOT_CHECK(can_encode(format), "no encoder for ", format_name(format));
  row_bytes(format, cols);  // checks cols
  check_values(x, cols, importance);
  visit_format(format, [&]<class T>() {
    if constexpr (DenseFormat<T>) {
      encode_dense<T>(x, cols, out);
    } else if constexpr (std::is_same_v<T, Q8_0>) {
      encode_q8_0(x, cols, out);
    } else if constexpr (std::is_same_v<T, Q4_0>) {
      encode_q4_0(x, cols, out, importance);
    } else if constexpr (kEncodable<T>) {
      encode_k<T>(x, cols, out, importance);
    }
  });
}

}  // namespace ingot
