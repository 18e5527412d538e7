// The list of all weight formats, from which loaders, kernels and tests are generated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/inline.h"
#include "base/view.h"
#include "quant/bf16.h"
#include "quant/f16.h"
#include "quant/f32.h"
#include "quant/group.h"
#include "quant/iq4_nl.h"
#include "quant/iq4_xs.h"
#include "quant/mxfp4.h"
#include "quant/q2_k.h"
#include "quant/q3_k.h"
#include "quant/q4_0.h"
#include "quant/q4_1.h"
#include "quant/q4_k.h"
#include "quant/q5_0.h"
#include "quant/q5_1.h"
#include "quant/q5_k.h"
#include "quant/q6_k.h"
#include "quant/q8_0.h"

namespace ingot {

/// A compile-time list of types.
template <class... Ts>
struct TypeList {};

/// All weight formats. A new format needs its own header and an entry in this list.
using Formats = TypeList<F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K,
                         IQ4_NL, IQ4_XS, MXFP4>;

/// Calls a generic lambda for each type T of a list, in order:
///
///     for_each_type(Formats{}, []<class T>() { ... });
template <class... Ts, class Fn>
constexpr void for_each_type(TypeList<Ts...>, Fn&& fn) {
  (fn.template operator()<Ts>(), ...);
}

namespace detail {

[[noreturn]] void unknown_format(Format format);

template <class Fn, class First, class... Rest>
decltype(auto) visit_format(Format format, Fn& fn, TypeList<First, Rest...>) {
  if constexpr (sizeof...(Rest) == 0) {
    if (format != First::kFormat) unknown_format(format);
    return fn.template operator()<First>();
  } else {
    if (format == First::kFormat) return fn.template operator()<First>();
    return visit_format(format, fn, TypeList<Rest...>{});
  }
}

}  // namespace detail

/// Calls a generic lambda with the struct T of `format`, and returns the result:
///
///     visit_format(format, []<class T>() { return T::kBlock; });
///
/// Errors: a format that is not in the list is a bug.
template <class Fn>
decltype(auto) visit_format(Format format, Fn fn) {
  return detail::visit_format(format, fn, Formats{});
}

/// Name and sizes of a format, for code that is not generated for each format.
struct FormatInfo {
  const char* name;
  int block;        ///< number of weights in a block; 1 for dense formats
  int block_bytes;  ///< bytes per block
  bool dense;
};

/// Returns name and sizes of `format`. A format that is not in the list is a bug.
const FormatInfo& format_info(Format format);

/// Returns the name of `format`, such as "Q4_K". A format that is not in the list is a bug.
const char* format_name(Format format);

/// Returns the format with the GGUF type number `type`; nothing if no format has this number.
std::optional<Format> format_from_ggml(std::uint32_t type);

/// Returns the name of the type with the GGUF number `type`, for messages. Also knows types that
/// are not in the list of formats. Returns null for unknown numbers.
const char* ggml_type_name(std::uint32_t type);

/// Returns the bytes of a row with `cols` weights.
///
/// Errors: it is a bug if `cols` is negative, is not a multiple of the block size, or makes the
///         number of bytes overflow. Loaders check `cols` first.
std::int64_t row_bytes(Format format, std::int64_t cols);

/// Decodes the 32 weights of one group. fl() rounds to float32; nothing else rounds. The products
/// scale = d * scale[j] and min = kMinSign * m * min[j] are exact:
///     weight[k] = fl(fl(scale * value(code[k])) + min)
///
/// Shapes: out [32].
template <BlockFormat T>
INGOT_INLINE void decode_group(const GroupCodes& codes, float* out) {
  constexpr int kPart = kGroup / T::kScales;
  const float d = T::scale_value(codes.d);
  for (int j = 0; j < T::kScales; ++j) {
    const float scale = d * static_cast<float>(codes.scale[j]);
    float min = 0;
    if constexpr (T::kMinSign != 0) {
      min = static_cast<float>(T::kMinSign) *
            (T::scale_value(codes.m) * static_cast<float>(codes.min[j]));
    }
    for (int k = j * kPart; k < (j + 1) * kPart; ++k) {
      const float product = scale * static_cast<float>(T::value(codes.code[k]));
      out[k] = T::kMinSign != 0 ? product + min : product;
    }
  }
}

/// Decodes a row of weights to floats.
///
/// Shapes: row [row_bytes(format, cols)] of any alignment, out [cols].
/// Errors: those of row_bytes.
void decode_row(Format format, const std::byte* row, std::int64_t cols, float* out);

}  // namespace ingot
