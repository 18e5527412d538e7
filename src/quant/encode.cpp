// encode_row: checks values, encodes dense formats, and calls the encoders of block formats.
#include "quant/encode.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "base/check.h"
#include "base/error.h"
#include "base/text.h"
#include "quant/block32_encode.h"
#include "quant/k_encode.h"

namespace ingot {

namespace {

template <class T, class... List>
constexpr bool kAnyOf = (std::is_same_v<T, List> || ...);

/// Formats with blocks of 32 weights and an encoder that takes factors of the errors.
template <class T>
constexpr bool kBlock32 = kAnyOf<T, Q4_0, Q5_0, Q5_1>;

template <class T>
constexpr bool kSuperBlock = kAnyOf<T, Q4_K, Q5_K, Q6_K>;

template <class T>
constexpr bool kEncodable = DenseFormat<T> || kAnyOf<T, Q8_0> || kBlock32<T> || kSuperBlock<T>;

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

bool all_zero(const float* values, int count) {
  return std::all_of(values, values + count, [](float v) { return v == 0; });
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

/// With an importance, errors of large weights count more, relative to the row's mean square (as in
/// ggml). A block with only zero importances is rounded without them.
template <class T>
void encode_block32(const float* x, std::int64_t cols, std::byte* out, const float* importance) {
  const double spread = importance != nullptr ? mean_square(x, cols) : 0;
  for (std::int64_t k = 0; k < cols; k += T::kBlock) {
    typename T::Block block;
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

/// The factors of the squared errors of a block's weights, at most 1. A sub-block with only zero
/// importances (no calibration data reached it) is rounded without them.
template <class T>
void block_weights(const float* importance, float* weight) {
  constexpr int kPart = kGroup / T::kScales;
  std::fill_n(weight, T::kBlock, 1.0f);
  if (importance == nullptr) return;
  const double largest = *std::max_element(importance, importance + T::kBlock);
  for (int part = 0; part < T::kBlock; part += kPart) {
    if (all_zero(importance + part, kPart)) continue;
    for (int k = part; k < part + kPart; ++k) {
      weight[k] = static_cast<float>(importance[k] / largest);
    }
  }
}

template <class T>
void encode_k(const float* x, std::int64_t cols, std::byte* out, const float* importance) {
  for (std::int64_t k = 0; k < cols; k += T::kBlock) {
    float weight[T::kBlock];
    block_weights<T>(importance == nullptr ? nullptr : importance + k, weight);
    typename T::Block block;
    encode_block(x + k, weight, block);
    put(block, out);
  }
}

}  // namespace

Format format_for_rows(Format wanted, std::int64_t cols) {
  Format format = wanted;
  while (cols % format_info(format).block != 0) {
    format = format == Q4_K::kFormat   ? Q5_0::kFormat
             : format == Q5_K::kFormat ? Q5_1::kFormat
             : format == Q6_K::kFormat ? Q8_0::kFormat
                                       : F16::kFormat;
  }
  return format;
}

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
    } else if constexpr (kBlock32<T>) {
      encode_block32<T>(x, cols, out, importance);
    } else if constexpr (kSuperBlock<T>) {
      encode_k<T>(x, cols, out, importance);
    }
  });
}

}  // namespace ingot
