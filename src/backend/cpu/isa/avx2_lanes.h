// Avx2Lanes: a 16-lane vector type in two AVX2 registers, with or without AVX-VNNI dot products.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "base/inline.h"

namespace ingot {
namespace {  // internal linkage: each file has its own copy of this code

/// The operations of ScalarLanes (scalar_lanes.h) in AVX2, FMA and F16C; `kVnni` adds AVX_VNNI.
template <bool kVnni>
struct Avx2Lanes {
  static constexpr bool kWideSigned = !kVnni;
  static constexpr bool kPairSums = !kVnni;
  static constexpr int kLinearRows = kVnni ? 2 : 4;
  static constexpr int kLinearRowsTwoScales = kVnni ? 2 : 4;
  static constexpr int kPassPanels = 1;
  static constexpr int kPassPanelsTwoScales = 1;
  static constexpr int kPassRows = 0;
  static constexpr int kFewRowsOfBytes = kVnni ? 5 : 8;
  static constexpr int kFewRowsOfNibbles = kVnni ? 5 : 8;
  static constexpr int kFewRowsOfOthers = 5;
  static constexpr std::int64_t kAheadOfBytes = 5120;
  static constexpr int kManyPanels = 1;
  static constexpr int kDenseRows = 6;
  static constexpr int kDenseRowsOfTwo = 0;
  static constexpr int kPairRows = 6;
  static constexpr int kPairChains = 3;
  static constexpr bool kLoadsPairsTwice = true;
  static constexpr int kPairRowsOfTwo = 0;
  static constexpr int kQueries = 2;
  static constexpr int kInt8Queries = 2;
  static constexpr int kScoreBlocks = 2;
  static constexpr int kAttentionChains = 4;
  struct F {
    __m256 a, b;
  };
  struct I {
    __m256i a, b;
  };
  struct M {
    __m256 a, b;
  };
  struct B {
    __m256i a, b;
  };
  using V = __m256i;

  INGOT_INLINE static F splat(float v) { return {_mm256_set1_ps(v), _mm256_set1_ps(v)}; }
  INGOT_INLINE static I splat_int(std::int32_t v) {
    return {_mm256_set1_epi32(v), _mm256_set1_epi32(v)};
  }
  INGOT_INLINE static F add(F x, F y) { return {_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)}; }
  INGOT_INLINE static F sub(F x, F y) { return {_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)}; }
  INGOT_INLINE static F mul(F x, F y) { return {_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)}; }
  INGOT_INLINE static F div(F x, F y) { return {_mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b)}; }
  INGOT_INLINE static F fma(F x, F y, F z) {
    return {_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)};
  }
  INGOT_INLINE static F sqrt(F x) { return {_mm256_sqrt_ps(x.a), _mm256_sqrt_ps(x.b)}; }
  INGOT_INLINE static M lt(F x, F y) {
    return {_mm256_cmp_ps(x.a, y.a, _CMP_LT_OQ), _mm256_cmp_ps(x.b, y.b, _CMP_LT_OQ)};
  }
  INGOT_INLINE static M le(F x, F y) {
    return {_mm256_cmp_ps(x.a, y.a, _CMP_LE_OQ), _mm256_cmp_ps(x.b, y.b, _CMP_LE_OQ)};
  }
  INGOT_INLINE static F select(M m, F yes, F no) {
    return {_mm256_blendv_ps(no.a, yes.a, m.a), _mm256_blendv_ps(no.b, yes.b, m.b)};
  }
  INGOT_INLINE static std::uint32_t to_bits(M m) {
    const auto low = static_cast<std::uint32_t>(_mm256_movemask_ps(m.a));
    return low | static_cast<std::uint32_t>(_mm256_movemask_ps(m.b)) << 8;
  }
  /// Returns the larger value in each lane, or y if the values are equal or one of them is NaN.
  INGOT_INLINE static F max(F x, F y) { return {_mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)}; }
  INGOT_INLINE static I bits(F x) { return {_mm256_castps_si256(x.a), _mm256_castps_si256(x.b)}; }
  INGOT_INLINE static F from_bits(I x) {
    return {_mm256_castsi256_ps(x.a), _mm256_castsi256_ps(x.b)};
  }
  INGOT_INLINE static I add_int(I x, I y) {
    return {_mm256_add_epi32(x.a, y.a), _mm256_add_epi32(x.b, y.b)};
  }
  INGOT_INLINE static I sub_int(I x, I y) {
    return {_mm256_sub_epi32(x.a, y.a), _mm256_sub_epi32(x.b, y.b)};
  }
  INGOT_INLINE static I and_int(I x, I y) {
    return {_mm256_and_si256(x.a, y.a), _mm256_and_si256(x.b, y.b)};
  }
  INGOT_INLINE static I or_int(I x, I y) {
    return {_mm256_or_si256(x.a, y.a), _mm256_or_si256(x.b, y.b)};
  }
  template <int n>
  INGOT_INLINE static I shl(I x) {
    return {_mm256_slli_epi32(x.a, n), _mm256_slli_epi32(x.b, n)};
  }
  template <int n>
  INGOT_INLINE static I shr(I x) {
    return {_mm256_srli_epi32(x.a, n), _mm256_srli_epi32(x.b, n)};
  }
  template <int n>
  INGOT_INLINE static I sar(I x) {
    return {_mm256_srai_epi32(x.a, n), _mm256_srai_epi32(x.b, n)};
  }
  INGOT_INLINE static F to_float(I x) { return {_mm256_cvtepi32_ps(x.a), _mm256_cvtepi32_ps(x.b)}; }

  INGOT_INLINE static F load(const float* p) {
    return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)};
  }
  INGOT_INLINE static F load(const float* p, int n) {
    if (n == 16) return load(p);
    const I in = first(n);
    return {_mm256_maskload_ps(p, in.a), _mm256_maskload_ps(p + 8, in.b)};
  }
  INGOT_INLINE static void store(float* p, F x) {
    _mm256_storeu_ps(p, x.a);
    _mm256_storeu_ps(p + 8, x.b);
  }
  INGOT_INLINE static void store(float* p, F x, int n) {
    if (n == 16) return store(p, x);
    const I in = first(n);
    _mm256_maskstore_ps(p, in.a, x.a);
    _mm256_maskstore_ps(p + 8, in.b, x.b);
  }
  INGOT_INLINE static F load_half(const void* p) {
    return {_mm256_cvtph_ps(load128(p, 0)), _mm256_cvtph_ps(load128(p, 16))};
  }
  INGOT_INLINE static void store_half(void* p, F x) {
    auto* v = static_cast<__m128i*>(p);
    _mm_storeu_si128(v, _mm256_cvtps_ph(x.a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    _mm_storeu_si128(v + 1, _mm256_cvtps_ph(x.b, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  INGOT_INLINE static F load_bfloat16(const void* p) {
    return from_bits(
        shl<16>({_mm256_cvtepu16_epi32(load128(p, 0)), _mm256_cvtepu16_epi32(load128(p, 16))}));
  }
  INGOT_INLINE static void store_upper(std::uint16_t* p, F x) {
    const I upper = shr<16>(bits(x));
    const __m256i mixed = _mm256_packus_epi32(upper.a, upper.b);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                        _mm256_permute4x64_epi64(mixed, 0b11'01'10'00));
  }
  INGOT_INLINE static I load_int8(const void* p) {
    return {_mm256_cvtepi8_epi32(load64(p, 0)), _mm256_cvtepi8_epi32(load64(p, 8))};
  }
  INGOT_INLINE static I load_uint8(const void* p) {
    return {_mm256_cvtepu8_epi32(load64(p, 0)), _mm256_cvtepu8_epi32(load64(p, 8))};
  }
  INGOT_INLINE static void store_int8(std::int8_t* p, I x) {
    const __m128i low =
        _mm_packs_epi32(_mm256_castsi256_si128(x.a), _mm256_extracti128_si256(x.a, 1));
    const __m128i high =
        _mm_packs_epi32(_mm256_castsi256_si128(x.b), _mm256_extracti128_si256(x.b, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm_packs_epi16(low, high));
  }
  INGOT_INLINE static void store_int8(std::int8_t* p, const I (&a)[4]) {
    for (int i = 0; i < 4; ++i) store_int8(p + 16 * i, a[i]);
  }

  INGOT_INLINE static B load_bytes(const void* p) {
    const auto* v = static_cast<const __m256i*>(p);
    return {_mm256_loadu_si256(v), _mm256_loadu_si256(v + 1)};
  }
  INGOT_INLINE static void store_bytes(void* p, B x) {
    auto* v = static_cast<__m256i*>(p);
    _mm256_storeu_si256(v, x.a);
    _mm256_storeu_si256(v + 1, x.b);
  }
  template <int n>
  INGOT_INLINE static B add_bytes(B x) {
    if constexpr (n == 0) return x;
    const __m256i v = _mm256_set1_epi8(static_cast<char>(n));
    return {_mm256_add_epi8(x.a, v), _mm256_add_epi8(x.b, v)};
  }
  template <int shift, int mask>
  INGOT_INLINE static B field(B x) {
    if constexpr (mask == 255) return x;
    const __m256i low = _mm256_set1_epi8(static_cast<char>(mask));
    return {_mm256_and_si256(shift == 0 ? x.a : _mm256_srli_epi16(x.a, shift), low),
            _mm256_and_si256(shift == 0 ? x.b : _mm256_srli_epi16(x.b, shift), low)};
  }
  template <int from, int to, int mask>
  INGOT_INLINE static B join(B low, B high) {
    const __m256i bits = _mm256_set1_epi8(static_cast<char>(mask));
    const auto part = [&](__m256i l, __m256i h) {
      if constexpr (from > to) h = _mm256_srli_epi16(h, from - to);
      if constexpr (from < to) h = _mm256_slli_epi16(h, to - from);
      return _mm256_or_si256(l, _mm256_and_si256(h, bits));
    };
    return {part(low.a, high.a), part(low.b, high.b)};
  }
  INGOT_INLINE static B lookup(const std::uint8_t* table, B x) {
    const __m256i t = _mm256_broadcastsi128_si256(load128(table, 0));
    return {_mm256_shuffle_epi8(t, x.a), _mm256_shuffle_epi8(t, x.b)};
  }
  INGOT_INLINE static B flip_sign(B x) {
    const __m256i sign = _mm256_set1_epi8(static_cast<char>(0x80));
    return {_mm256_xor_si256(x.a, sign), _mm256_xor_si256(x.b, sign)};
  }

  template <bool kSigned>
  INGOT_INLINE static I dot(I acc, B w, const std::int8_t* x) {
    const V xs = splat_four(x);
    if constexpr (kVnni) {
      static_assert(!kSigned);
      return {dot_vnni(acc.a, w.a, xs), dot_vnni(acc.b, w.b, xs)};
    } else {
      return add_int(acc, {pairs<kSigned>(w.a, xs), pairs<kSigned>(w.b, xs)});
    }
  }
  INGOT_INLINE static I dot_signed(I acc, B v, const std::int8_t* x) {
    const V xs = splat_four(x);
    if constexpr (kVnni) {
      return {dot_vnni(acc.a, xs, v.a), dot_vnni(acc.b, xs, v.b)};
    } else {
      return add_int(acc, {pairs<false>(xs, v.a), pairs<false>(xs, v.b)});
    }
  }

  template <int kHalf>
  INGOT_INLINE static V half(B x) {
    return kHalf == 0 ? x.a : x.b;
  }
  INGOT_INLINE static V splat_four(const std::int8_t* x) {
    std::int32_t four;
    __builtin_memcpy(&four, x, 4);
    return _mm256_set1_epi32(four);
  }
  INGOT_INLINE static V low_nibbles(V x) { return _mm256_and_si256(x, _mm256_set1_epi8(15)); }
  INGOT_INLINE static V high_nibbles(V x) { return low_nibbles(_mm256_srli_epi16(x, 4)); }
  /// Returns 16-bit sums: sum i is w[2 i] * x[2 i] + w[2 i + 1] * x[2 i + 1]; w unsigned, x signed.
  INGOT_INLINE static V pairs_of(V w, V x) { return _mm256_maddubs_epi16(w, x); }
  /// Adds 16-bit sums. The empty `asm` keeps the order of additions. A tree of additions would need
  /// more registers than the processor has.
  INGOT_INLINE static V add_pairs(V x, V y) {
    V sum = _mm256_add_epi16(x, y);
    __asm__("" : "+x"(sum));
    return sum;
  }
  /// Multiplies 16-bit sums by kTimes. Adds two products to each lane of half kHalf of `acc`.
  template <int kHalf, int kTimes>
  INGOT_INLINE static void widen(I& acc, V pairs) {
    __m256i& to = kHalf == 0 ? acc.a : acc.b;
    to = _mm256_add_epi32(to, _mm256_madd_epi16(pairs, _mm256_set1_epi16(kTimes)));
  }

  INGOT_INLINE static float tree(F x) {
    const __m256 h = _mm256_add_ps(x.a, x.b);
    __m128 q = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    q = _mm_add_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_add_ss(q, _mm_movehdup_ps(q)));
  }
  INGOT_INLINE static float max_lane(F x) {
    const __m256 h = _mm256_max_ps(x.a, x.b);
    __m128 q = _mm_max_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    q = _mm_max_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_max_ss(q, _mm_movehdup_ps(q)));
  }
  INGOT_INLINE static I max_int(I x, I y) {
    return {_mm256_max_epi32(x.a, y.a), _mm256_max_epi32(x.b, y.b)};
  }
  INGOT_INLINE static std::int32_t max_int(I x) {
    const __m256i h = _mm256_max_epi32(x.a, x.b);
    __m128i q = _mm_max_epi32(_mm256_castsi256_si128(h), _mm256_extracti128_si256(h, 1));
    q = _mm_max_epi32(q, _mm_shuffle_epi32(q, 0x4e));
    return _mm_cvtsi128_si32(_mm_max_epi32(q, _mm_shuffle_epi32(q, 0xb1)));
  }
  INGOT_INLINE static std::int32_t sum_int(I x) {
    const __m256i h = _mm256_add_epi32(x.a, x.b);
    __m128i q = _mm_add_epi32(_mm256_castsi256_si128(h), _mm256_extracti128_si256(h, 1));
    q = _mm_add_epi32(q, _mm_shuffle_epi32(q, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(q, _mm_shuffle_epi32(q, 0xb1)));
  }

 private:
  /// Returns a mask with all bits set in lanes [0, n).
  INGOT_INLINE static I first(int n) {
    const __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return {_mm256_cmpgt_epi32(_mm256_set1_epi32(n), index),
            _mm256_cmpgt_epi32(_mm256_set1_epi32(n - 8), index)};
  }
  INGOT_INLINE static __m128i load128(const void* p, int offset) {
    const auto* at = static_cast<const unsigned char*>(p) + offset;
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  }
  INGOT_INLINE static __m128i load64(const void* p, int offset) {
    const auto* at = static_cast<const unsigned char*>(p) + offset;
    return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(at));
  }
  INGOT_INLINE static __m256i dot_vnni(__m256i acc, __m256i w, __m256i x) {
#ifdef __AVXVNNI__
    return _mm256_dpbusd_avx_epi32(acc, w, x);
#elif defined(__AVX512VNNI__) && defined(__AVX512VL__)
    return _mm256_dpbusd_epi32(acc, w, x);
#else
    static_cast<void>(w);
    static_cast<void>(x);
    return acc;
#endif
  }
  /// Returns the sum of four products in each lane. Sums of two products fit in 16 bits: they are
  /// at most 2 * 127 * 127. If kSigned, signs move from w to x, and the limit is 2 * 128 * 127.
  template <bool kSigned>
  INGOT_INLINE static __m256i pairs(__m256i w, __m256i x) {
    if constexpr (kSigned) {
      x = _mm256_sign_epi8(x, w);
      w = _mm256_abs_epi8(w);
    }
    return _mm256_madd_epi16(_mm256_maddubs_epi16(w, x), _mm256_set1_epi16(1));
  }
};

}  // namespace
}  // namespace ingot
