// NeonLanes: a 16-lane vector type in four NEON registers, with the dot products of Armv8.2.
#pragma once

#include <arm_neon.h>

#include <cstdint>

#include "base/inline.h"

namespace ingot {
namespace {  // internal linkage: each file has its own copy of this code

/// The operations of ScalarLanes (scalar_lanes.h) in NEON. Dot products need signed bytes.
struct NeonLanes {
  static constexpr bool kWideSigned = true;
  static constexpr bool kPairSums = false;
  static constexpr int kLinearRows = 4;
  static constexpr int kLinearRowsTwoScales = 2;
  static constexpr int kPassPanels = 1;
  static constexpr int kPassPanelsTwoScales = 1;
  static constexpr int kPassRows = 0;
  static constexpr int kFewRowsOfBytes = 5;
  static constexpr int kFewRowsOfNibbles = 5;
  static constexpr int kFewRowsOfOthers = 5;
  static constexpr std::int64_t kAheadOfBytes = 5120;
  static constexpr int kManyPanels = 1;
  static constexpr int kDenseRows = 6;
  static constexpr int kDenseRowsOfTwo = 0;
  static constexpr int kPairRows = 6;
  static constexpr int kPairChains = 3;
  static constexpr bool kLoadsPairsTwice = false;
  static constexpr int kPairRowsOfTwo = 0;
  static constexpr int kQueries = 2;
  static constexpr int kInt8Queries = 2;
  static constexpr int kScoreBlocks = 2;
  static constexpr int kAttentionChains = 4;
  struct F {
    float32x4_t v[4];
  };
  struct I {
    int32x4_t v[4];
  };
  struct M {
    uint32x4_t v[4];
  };
  struct B {
    uint8x16_t v[4];
  };

  template <class R, class Fn>
  INGOT_INLINE static R each(Fn fn) {
    return {{fn(0), fn(1), fn(2), fn(3)}};
  }

  INGOT_INLINE static F splat(float a) {
    return each<F>([&](int) { return vdupq_n_f32(a); });
  }
  INGOT_INLINE static I splat_int(std::int32_t a) {
    return each<I>([&](int) { return vdupq_n_s32(a); });
  }
  INGOT_INLINE static F add(F a, F b) {
    return each<F>([&](int i) { return vaddq_f32(a.v[i], b.v[i]); });
  }
  INGOT_INLINE static F sub(F a, F b) {
    return each<F>([&](int i) { return vsubq_f32(a.v[i], b.v[i]); });
  }
  INGOT_INLINE static F mul(F a, F b) {
    return each<F>([&](int i) { return vmulq_f32(a.v[i], b.v[i]); });
  }
  INGOT_INLINE static F div(F a, F b) {
    return each<F>([&](int i) { return vdivq_f32(a.v[i], b.v[i]); });
  }
  INGOT_INLINE static F fma(F a, F b, F c) {
    return each<F>([&](int i) { return vfmaq_f32(c.v[i], a.v[i], b.v[i]); });
  }
  INGOT_INLINE static F sqrt(F a) {
    return each<F>([&](int i) { return vsqrtq_f32(a.v[i]); });
  }
  INGOT_INLINE static M lt(F a, F b) {
    return each<M>([&](int i) { return vcltq_f32(a.v[i], b.v[i]); });
  }
  INGOT_INLINE static M le(F a, F b) {
    return each<M>([&](int i) { return vcleq_f32(a.v[i], b.v[i]); });
  }
  INGOT_INLINE static F select(M m, F yes, F no) {
    return each<F>([&](int i) { return vbslq_f32(m.v[i], yes.v[i], no.v[i]); });
  }
  INGOT_INLINE static std::uint32_t to_bits(M m) {
    constexpr std::uint32_t kBits[4] = {1, 2, 4, 8};
    const uint32x4_t bits = vld1q_u32(kBits);
    std::uint32_t out = 0;
    for (int i = 0; i < 4; ++i) out |= vaddvq_u32(vandq_u32(m.v[i], bits)) << (4 * i);
    return out;
  }
  /// Compares and selects: NEON's maximum treats zeros and NaN differently from ScalarLanes::max.
  INGOT_INLINE static F max(F a, F b) {
    return each<F>([&](int i) { return larger(a.v[i], b.v[i]); });
  }
  INGOT_INLINE static I bits(F a) {
    return each<I>([&](int i) { return vreinterpretq_s32_f32(a.v[i]); });
  }
  INGOT_INLINE static F from_bits(I a) {
    return each<F>([&](int i) { return vreinterpretq_f32_s32(a.v[i]); });
  }
  INGOT_INLINE static I add_int(I a, I b) {
    return each<I>([&](int i) { return vaddq_s32(a.v[i], b.v[i]); });
  }
  INGOT_INLINE static I sub_int(I a, I b) {
    return each<I>([&](int i) { return vsubq_s32(a.v[i], b.v[i]); });
  }
  INGOT_INLINE static I and_int(I a, I b) {
    return each<I>([&](int i) { return vandq_s32(a.v[i], b.v[i]); });
  }
  INGOT_INLINE static I or_int(I a, I b) {
    return each<I>([&](int i) { return vorrq_s32(a.v[i], b.v[i]); });
  }
  template <int n>
  INGOT_INLINE static I shl(I a) {
    return each<I>([&](int i) { return vshlq_n_s32(a.v[i], n); });
  }
  template <int n>
  INGOT_INLINE static I shr(I a) {
    return each<I>([&](int i) {
      return vreinterpretq_s32_u32(vshrq_n_u32(vreinterpretq_u32_s32(a.v[i]), n));
    });
  }
  template <int n>
  INGOT_INLINE static I sar(I a) {
    return each<I>([&](int i) { return vshrq_n_s32(a.v[i], n); });
  }
  INGOT_INLINE static F to_float(I a) {
    return each<F>([&](int i) { return vcvtq_f32_s32(a.v[i]); });
  }

  INGOT_INLINE static F load(const float* p) {
    return each<F>([&](int i) { return vld1q_f32(p + 4 * i); });
  }
  INGOT_INLINE static F load(const float* p, int n) {
    if (n == 16) return load(p);
    float part[16] = {};
    for (int i = 0; i < n; ++i) part[i] = p[i];
    return load(part);
  }
  INGOT_INLINE static void store(float* p, F a) {
    for (int i = 0; i < 4; ++i) vst1q_f32(p + 4 * i, a.v[i]);
  }
  INGOT_INLINE static void store(float* p, F a, int n) {
    if (n == 16) return store(p, a);
    float part[16];
    store(part, a);
    for (int i = 0; i < n; ++i) p[i] = part[i];
  }
  INGOT_INLINE static F load_half(const void* p) {
    return each<F>([&](int i) { return vcvt_f32_f16(vreinterpret_f16_u16(load_u16(p, i))); });
  }
  INGOT_INLINE static void store_half(void* p, F a) {
    for (int i = 0; i < 4; ++i) {
      const uint16x4_t bits = vreinterpret_u16_f16(vcvt_f16_f32(a.v[i]));
      __builtin_memcpy(static_cast<std::uint8_t*>(p) + 8 * i, &bits, sizeof bits);
    }
  }
  INGOT_INLINE static F load_bfloat16(const void* p) {
    return each<F>([&](int i) { return vreinterpretq_f32_u32(vshll_n_u16(load_u16(p, i), 16)); });
  }
  INGOT_INLINE static void store_upper(std::uint16_t* p, F x) {
    for (int i = 0; i < 4; ++i) {
      vst1_u16(p + 4 * i, vshrn_n_u32(vreinterpretq_u32_f32(x.v[i]), 16));
    }
  }
  INGOT_INLINE static I load_int8(const void* p) {
    const int8x16_t bytes = vld1q_s8(static_cast<const std::int8_t*>(p));
    const int16x8_t low = vmovl_s8(vget_low_s8(bytes));
    const int16x8_t high = vmovl_s8(vget_high_s8(bytes));
    return {{vmovl_s16(vget_low_s16(low)), vmovl_s16(vget_high_s16(low)),
             vmovl_s16(vget_low_s16(high)), vmovl_s16(vget_high_s16(high))}};
  }
  INGOT_INLINE static I load_uint8(const void* p) {
    const uint8x16_t bytes = vld1q_u8(static_cast<const std::uint8_t*>(p));
    const uint16x8_t low = vmovl_u8(vget_low_u8(bytes));
    const uint16x8_t high = vmovl_u8(vget_high_u8(bytes));
    return {{widen(vget_low_u16(low)), widen(vget_high_u16(low)), widen(vget_low_u16(high)),
             widen(vget_high_u16(high))}};
  }
  INGOT_INLINE static void store_int8(std::int8_t* p, I a) {
    const int16x8_t low = vcombine_s16(vmovn_s32(a.v[0]), vmovn_s32(a.v[1]));
    const int16x8_t high = vcombine_s16(vmovn_s32(a.v[2]), vmovn_s32(a.v[3]));
    vst1q_s8(p, vcombine_s8(vmovn_s16(low), vmovn_s16(high)));
  }
  INGOT_INLINE static void store_int8(std::int8_t* p, const I (&a)[4]) {
    for (int i = 0; i < 4; ++i) store_int8(p + 16 * i, a[i]);
  }

  INGOT_INLINE static B load_bytes(const void* p) {
    const auto* bytes = static_cast<const std::uint8_t*>(p);
    return each<B>([&](int i) { return vld1q_u8(bytes + 16 * i); });
  }
  INGOT_INLINE static void store_bytes(void* p, B a) {
    for (int i = 0; i < 4; ++i) vst1q_u8(static_cast<std::uint8_t*>(p) + 16 * i, a.v[i]);
  }
  template <int n>
  INGOT_INLINE static B add_bytes(B a) {
    if constexpr (n == 0) return a;
    return each<B>([&](int i) { return vaddq_u8(a.v[i], vdupq_n_u8(n)); });
  }
  template <int shift, int mask>
  INGOT_INLINE static B field(B a) {
    if constexpr (shift > 0) a = each<B>([&](int i) { return vshrq_n_u8(a.v[i], shift); });
    if constexpr (mask == 255) return a;
    return each<B>([&](int i) { return vandq_u8(a.v[i], vdupq_n_u8(mask)); });
  }
  template <int from, int to, int mask>
  INGOT_INLINE static B join(B low, B high) {
    return each<B>([&](int i) {
      uint8x16_t moved = high.v[i];
      if constexpr (from > to) moved = vshrq_n_u8(moved, from - to);
      if constexpr (from < to) moved = vshlq_n_u8(moved, to - from);
      return vorrq_u8(low.v[i], vandq_u8(moved, vdupq_n_u8(mask)));
    });
  }
  INGOT_INLINE static B lookup(const std::uint8_t* table, B a) {
    const uint8x16_t t = vld1q_u8(table);
    return each<B>([&](int i) { return vqtbl1q_u8(t, a.v[i]); });
  }
  INGOT_INLINE static B flip_sign(B a) {
    return each<B>([&](int i) { return veorq_u8(a.v[i], vdupq_n_u8(0x80)); });
  }

  /// Computes `dot` of ScalarLanes. Unsigned weights are below 128, so signed products are exact.
  template <bool kSigned>
  INGOT_INLINE static I dot(I acc, B w, const std::int8_t* x) {
    std::int32_t four;
    __builtin_memcpy(&four, x, 4);
    const int8x16_t xs = vreinterpretq_s8_s32(vdupq_n_s32(four));
    return each<I>([&](int i) { return vdotq_s32(acc.v[i], vreinterpretq_s8_u8(w.v[i]), xs); });
  }
  INGOT_INLINE static I dot_signed(I acc, B v, const std::int8_t* x) {
    return dot<true>(acc, v, x);
  }

  INGOT_INLINE static float tree(F a) {
    const float32x4_t q = vaddq_f32(vaddq_f32(a.v[0], a.v[2]), vaddq_f32(a.v[1], a.v[3]));
    const float32x2_t d = vadd_f32(vget_low_f32(q), vget_high_f32(q));
    return vget_lane_f32(d, 0) + vget_lane_f32(d, 1);
  }
  INGOT_INLINE static float max_lane(F a) {
    float32x4_t q = larger(larger(a.v[0], a.v[2]), larger(a.v[1], a.v[3]));
    q = larger(q, vextq_f32(q, q, 2));
    return vgetq_lane_f32(larger(q, vextq_f32(q, q, 1)), 0);
  }
  INGOT_INLINE static I max_int(I a, I b) {
    return each<I>([&](int i) { return vmaxq_s32(a.v[i], b.v[i]); });
  }
  INGOT_INLINE static std::int32_t max_int(I a) {
    return vmaxvq_s32(vmaxq_s32(vmaxq_s32(a.v[0], a.v[1]), vmaxq_s32(a.v[2], a.v[3])));
  }
  INGOT_INLINE static std::int32_t sum_int(I a) {
    return vaddvq_s32(vaddq_s32(vaddq_s32(a.v[0], a.v[1]), vaddq_s32(a.v[2], a.v[3])));
  }

 private:
  INGOT_INLINE static float32x4_t larger(float32x4_t a, float32x4_t b) {
    return vbslq_f32(vcgtq_f32(a, b), a, b);
  }
  INGOT_INLINE static uint16x4_t load_u16(const void* p, int quarter) {
    uint16x4_t v;
    __builtin_memcpy(&v, static_cast<const std::uint8_t*>(p) + 8 * quarter, sizeof v);
    return v;
  }
  INGOT_INLINE static int32x4_t widen(uint16x4_t a) { return vreinterpretq_s32_u32(vmovl_u16(a)); }
};

}  // namespace
}  // namespace ingot
