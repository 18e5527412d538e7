// Avx512Lanes: a 16-lane vector type in one AVX-512 register, with or without VNNI dot products.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "base/inline.h"

namespace ingot {
namespace {  // internal linkage: each file has its own copy of this code

/// The operations of ScalarLanes (scalar_lanes.h) in AVX-512 F, BW, DQ, VL; `kVnni` adds VNNI.
template <bool kVnni>
struct Avx512Lanes {
  static constexpr bool kWideSigned = !kVnni;
  static constexpr bool kPairSums = false;
  static constexpr int kLinearRows = 8;
  static constexpr int kLinearRowsTwoScales = 8;
  /// Panels in a pass. With VNNI, `dot_alone` loads rows for free, so panels need not share loads.
  static constexpr int kPassPanels = kVnni ? 1 : 2;
  static constexpr int kPassPanelsTwoScales = kVnni ? 1 : 2;
  static constexpr int kPassRows = 4;
  static constexpr int kFewRowsOfBytes = kVnni ? 64 : 24;
  static constexpr int kFewRowsOfNibbles = kVnni ? 32 : 24;
  static constexpr int kFewRowsOfOthers = 8;
  /// Prefetch distance in bytes: short with VNNI, as processors with VNNI prefetch far themselves.
  static constexpr std::int64_t kAheadOfBytes = kVnni ? 2048 : 5120;
  static constexpr int kManyPanels = 8;
  static constexpr int kDenseRows = 28;
  static constexpr int kDenseRowsOfTwo = 12;
  static constexpr int kPairRows = 28;
  static constexpr int kPairChains = 14;
  static constexpr bool kLoadsPairsTwice = false;
  static constexpr int kPairRowsOfTwo = 6;
  static constexpr int kQueries = 12;
  static constexpr int kInt8Queries = kVnni ? 8 : 4;
  static constexpr int kScoreBlocks = 4;
  static constexpr int kAttentionChains = 24;
  using F = __m512;
  using I = __m512i;
  using M = __mmask16;
  using B = __m512i;

  INGOT_INLINE static F splat(float a) { return _mm512_set1_ps(a); }
  INGOT_INLINE static I splat_int(std::int32_t a) { return _mm512_set1_epi32(a); }
  INGOT_INLINE static F add(F a, F b) { return _mm512_add_ps(a, b); }
  INGOT_INLINE static F sub(F a, F b) { return _mm512_sub_ps(a, b); }
  INGOT_INLINE static F mul(F a, F b) { return _mm512_mul_ps(a, b); }
  INGOT_INLINE static F div(F a, F b) { return _mm512_div_ps(a, b); }
  INGOT_INLINE static F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  INGOT_INLINE static F sqrt(F a) { return _mm512_sqrt_ps(a); }
  INGOT_INLINE static M lt(F a, F b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
  INGOT_INLINE static M le(F a, F b) { return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ); }
  INGOT_INLINE static F select(M m, F yes, F no) { return _mm512_mask_blend_ps(m, no, yes); }
  INGOT_INLINE static std::uint32_t to_bits(M m) { return m; }
  /// Writes the lanes selected by `bits` to `values`, without gaps. Writes the selected lanes'
  /// indices plus `first` to `numbers`. Overwrites 16 elements of both arrays.
  INGOT_INLINE static void store_chosen(std::uint32_t bits, F a, std::int32_t first, float* values,
                                        std::int32_t* numbers) {
    const auto mask = static_cast<__mmask16>(bits);
    const I lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const I number = _mm512_add_epi32(_mm512_set1_epi32(first), lane);
    _mm512_storeu_ps(values, _mm512_maskz_compress_ps(mask, a));
    _mm512_storeu_si512(numbers, _mm512_maskz_compress_epi32(mask, number));
  }
  /// Returns the larger value in each lane, or b if the values are equal or one of them is NaN.
  INGOT_INLINE static F max(F a, F b) { return _mm512_max_ps(a, b); }
  INGOT_INLINE static I bits(F a) { return _mm512_castps_si512(a); }
  INGOT_INLINE static F from_bits(I a) { return _mm512_castsi512_ps(a); }
  INGOT_INLINE static I add_int(I a, I b) { return _mm512_add_epi32(a, b); }
  INGOT_INLINE static I sub_int(I a, I b) { return _mm512_sub_epi32(a, b); }
  INGOT_INLINE static I and_int(I a, I b) { return _mm512_and_si512(a, b); }
  INGOT_INLINE static I or_int(I a, I b) { return _mm512_or_si512(a, b); }
  template <int n>
  INGOT_INLINE static I shl(I a) {
    return _mm512_slli_epi32(a, n);
  }
  template <int n>
  INGOT_INLINE static I shr(I a) {
    return _mm512_srli_epi32(a, n);
  }
  template <int n>
  INGOT_INLINE static I sar(I a) {
    return _mm512_srai_epi32(a, n);
  }
  INGOT_INLINE static F to_float(I a) { return _mm512_cvtepi32_ps(a); }

  INGOT_INLINE static F load(const float* p) { return _mm512_loadu_ps(p); }
  INGOT_INLINE static F load(const float* p, int n) {
    return n == 16 ? load(p) : _mm512_maskz_loadu_ps(first(n), p);
  }
  INGOT_INLINE static void store(float* p, F a) { _mm512_storeu_ps(p, a); }
  INGOT_INLINE static void store(float* p, F a, int n) {
    if (n == 16) return store(p, a);
    _mm512_mask_storeu_ps(p, first(n), a);
  }
  INGOT_INLINE static F load_half(const void* p) { return _mm512_cvtph_ps(load256(p)); }
  INGOT_INLINE static void store_half(void* p, F a) {
    _mm256_storeu_si256(static_cast<__m256i*>(p),
                        _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  INGOT_INLINE static F load_bfloat16(const void* p) {
    return from_bits(shl<16>(_mm512_cvtepu16_epi32(load256(p))));
  }
  INGOT_INLINE static void store_upper(std::uint16_t* p, F x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(shr<16>(bits(x))));
  }
  INGOT_INLINE static I load_int8(const void* p) { return _mm512_cvtepi8_epi32(load128(p)); }
  INGOT_INLINE static I load_uint8(const void* p) { return _mm512_cvtepu8_epi32(load128(p)); }
  INGOT_INLINE static void store_int8(std::int8_t* p, I a) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(a));
  }
  INGOT_INLINE static void store_int8(std::int8_t* p, const I (&a)[4]) {
    // Pack instructions work within quarters of a register; `order` restores the order of lanes.
    const I low = _mm512_packs_epi32(a[0], a[1]);
    const I high = _mm512_packs_epi32(a[2], a[3]);
    const I order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    _mm512_storeu_si512(p, _mm512_permutexvar_epi32(order, _mm512_packs_epi16(low, high)));
  }

  /// Packs four rows of 16 integers into bytes [4 quads][row][4 columns]. All values fit in a byte.
  INGOT_INLINE static B join_rows(const I (&a)[4]) {
    return _mm512_packs_epi16(_mm512_packs_epi32(a[0], a[1]), _mm512_packs_epi32(a[2], a[3]));
  }
  /// Writes the sum of each of the four rows that `join_rows` packed.
  INGOT_INLINE static void sum_of_rows(B rows, std::int32_t (&sums)[4]) {
    const I pairs = _mm512_maddubs_epi16(_mm512_set1_epi8(1), rows);
    const I quads = _mm512_madd_epi16(pairs, _mm512_set1_epi16(1));
    const I each = of_quarters(quads, [](I x, I y) { return add_int(x, y); });
    _mm_storeu_si128(reinterpret_cast<__m128i*>(sums), _mm512_castsi512_si128(each));
  }

  INGOT_INLINE static B load_bytes(const void* p) { return _mm512_loadu_si512(p); }
  INGOT_INLINE static void store_bytes(void* p, B a) { _mm512_storeu_si512(p, a); }
  template <int n>
  INGOT_INLINE static B add_bytes(B a) {
    return n == 0 ? a : _mm512_add_epi8(a, _mm512_set1_epi8(static_cast<char>(n)));
  }
  template <int shift, int mask>
  INGOT_INLINE static B field(B a) {
    if constexpr (mask == 255) return a;
    const B low = _mm512_set1_epi8(static_cast<char>(mask));
    return _mm512_and_si512(shift == 0 ? a : _mm512_srli_epi16(a, shift), low);
  }
  template <int from, int to, int mask>
  INGOT_INLINE static B join(B low, B high) {
    if constexpr (from > to) high = _mm512_srli_epi16(high, from - to);
    if constexpr (from < to) high = _mm512_slli_epi16(high, to - from);
    constexpr int kFirstOrBoth = 0xF8;  // a | (b & c)
    return _mm512_ternarylogic_epi32(low, high, _mm512_set1_epi8(static_cast<char>(mask)),
                                     kFirstOrBoth);
  }
  INGOT_INLINE static B lookup(const std::uint8_t* table, B a) {
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(load128(table)), a);
  }
  INGOT_INLINE static B flip_sign(B a) {
    return _mm512_xor_si512(a, _mm512_set1_epi8(static_cast<char>(0x80)));
  }

  template <bool kSigned>
  INGOT_INLINE static I dot(I acc, B w, const std::int8_t* x) {
    std::int32_t four;
    __builtin_memcpy(&four, x, 4);
    const I xs = splat_int(four);
    if constexpr (kVnni) {
      static_assert(!kSigned);
      return dot_vnni(acc, w, xs);
    } else {
      return add_int(acc, pairs<kSigned>(w, xs));
    }
  }
  /// Computes `dot` of unsigned bytes; one instruction both loads and multiplies. Faster than `dot`
  /// if no other product uses the four bytes at `x`.
  INGOT_INLINE static I dot_alone(I acc, B w, const std::int8_t* x) requires kVnni {
    // Inline assembly, because compilers emit two instructions for the intrinsics.
    __asm__("vpdpbusd %2%{1to16%}, %1, %0"
            : "+v"(acc)
            : "v"(w), "m"(*reinterpret_cast<const std::int8_t(*)[4]>(x)));
    return acc;
  }
  INGOT_INLINE static I dot_signed(I acc, B v, const std::int8_t* x) {
    std::int32_t four;
    __builtin_memcpy(&four, x, 4);
    const I xs = splat_int(four);
    if constexpr (kVnni) {
      return dot_vnni(acc, xs, v);
    } else {
      return add_int(acc, pairs<false>(xs, v));
    }
  }

  INGOT_INLINE static float tree(F a) {
    __m256 h = _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    __m128 q = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    q = _mm_add_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_add_ss(q, _mm_movehdup_ps(q)));
  }
  INGOT_INLINE static float max_lane(F a) {
    __m256 h = _mm256_max_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    __m128 q = _mm_max_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    q = _mm_max_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_max_ss(q, _mm_movehdup_ps(q)));
  }
  INGOT_INLINE static I max_int(I a, I b) { return _mm512_max_epi32(a, b); }
  INGOT_INLINE static std::int32_t max_int(I a) { return _mm512_reduce_max_epi32(a); }
  /// Writes the largest lane of each of four vectors, with half the instructions of four `max_int`.
  INGOT_INLINE static void max_int_of_four(const I (&a)[4], std::int32_t (&largest)[4]) {
    of_four(a, largest, [](I x, I y) { return max_int(x, y); });
  }
  /// Returns the largest lane of each a[i], in the result's lanes i, i + 4, i + 8 and i + 12.
  INGOT_INLINE static I max_lanes_of_four(const I (&a)[4]) {
    return each_of_four(a, [](I x, I y) { return max_int(x, y); });
  }
  INGOT_INLINE static std::int32_t sum_int(I a) { return _mm512_reduce_add_epi32(a); }
  /// Writes the sum of all lanes of each of four vectors.
  INGOT_INLINE static void sum_int_of_four(const I (&a)[4], std::int32_t (&sums)[4]) {
    of_four(a, sums, [](I x, I y) { return add_int(x, y); });
  }

 private:
  /// Reduces each of four vectors by `op`, and writes the four results.
  template <class Op>
  INGOT_INLINE static void of_four(const I (&a)[4], std::int32_t (&out)[4], Op op) {
    const I each = each_of_four(a, op);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm512_castsi512_si128(each));
  }
  /// Reduces each of four vectors by `op`. Lanes i, i + 4, i + 8, i + 12 hold the result of a[i].
  template <class Op>
  INGOT_INLINE static I each_of_four(const I (&a)[4], Op op) {
    const I low = op(_mm512_unpacklo_epi32(a[0], a[1]), _mm512_unpackhi_epi32(a[0], a[1]));
    const I high = op(_mm512_unpacklo_epi32(a[2], a[3]), _mm512_unpackhi_epi32(a[2], a[3]));
    return of_quarters(op(_mm512_unpacklo_epi64(low, high), _mm512_unpackhi_epi64(low, high)), op);
  }
  /// Reduces lanes i, i + 4, i + 8 and i + 12 by `op`. Each of these lanes holds the result.
  template <class Op>
  INGOT_INLINE static I of_quarters(I a, Op op) {
    const I half = op(a, _mm512_shuffle_i64x2(a, a, 0b01'00'11'10));
    return op(half, _mm512_shuffle_i64x2(half, half, 0b10'11'00'01));
  }
  INGOT_INLINE static M first(int n) { return static_cast<M>((1U << n) - 1); }
  INGOT_INLINE static __m256i load256(const void* p) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(p));
  }
  INGOT_INLINE static __m128i load128(const void* p) {
    return _mm_loadu_si128(static_cast<const __m128i*>(p));
  }
  INGOT_INLINE static I dot_vnni(I acc, B w, I x) {
#ifdef __AVX512VNNI__
    return _mm512_dpbusd_epi32(acc, w, x);
#else
    static_cast<void>(w);
    static_cast<void>(x);
    return acc;
#endif
  }
  /// Returns the sum of four products in each lane. Sums of two products fit in 16 bits: they are
  /// at most 2 * 127 * 127. If kSigned, signs move from w to x, and the limit is 2 * 128 * 127.
  template <bool kSigned>
  INGOT_INLINE static I pairs(B w, I x) {
    if constexpr (kSigned) {
      x = _mm512_mask_sub_epi8(x, _mm512_movepi8_mask(w), _mm512_setzero_si512(), x);
      w = _mm512_abs_epi8(w);
    }
    return _mm512_madd_epi16(_mm512_maddubs_epi16(w, x), _mm512_set1_epi16(1));
  }
};

}  // namespace
}  // namespace ingot
