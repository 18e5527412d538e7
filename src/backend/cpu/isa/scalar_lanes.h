// Sixteen lanes in plain C++: the lanes type of the scalar kernel table, and the definition that
// every vector type follows.
#pragma once

#include <cstdint>

#include "base/half.h"
#include "base/inline.h"

namespace ingot {
namespace {  // internal linkage: no other file may end up with this file's code

/// The lanes concept of base/lanes.h at width 16, and what kernels need beyond it: memory, bytes,
/// dot products and the two reductions whose order is fixed.
struct ScalarLanes {
  static constexpr int kWidth = 16;
  /// Whether `dot` takes weights that may exceed 127 as signed bytes only.
  static constexpr bool kWideSigned = false;
  /// Whether `linear` multiplies bytes into 16-bit sums of pairs (kernels/pair_sums.inl). Then
  /// there are V, one of the two registers of B and of I, and the operations of that file.
  static constexpr bool kPairSums = false;
  /// Rows of a pass over one panel, for one and for two scales a group: as many as fit in
  /// registers.
  static constexpr int kLinearRows = 2;
  static constexpr int kLinearRowsTwoScales = 2;
  /// Panels of a pass over several, for one and for two scales a group, and its rows.
  static constexpr int kPassPanels = 3;
  static constexpr int kPassPanelsTwoScales = 2;
  static constexpr int kPassRows = 2;
  /// Rows up to which each pass unpacks a panel as it reads it: codes of 8, of 4, of other bits.
  static constexpr int kFewRowsOfBytes = 5;
  static constexpr int kFewRowsOfNibbles = 5;
  static constexpr int kFewRowsOfOthers = 5;
  /// Bytes between what one or two rows read of 8-bit weights and what they prefetch.
  static constexpr std::int64_t kAheadOfBytes = 5120;
  /// Panels that more rows unpack once for all of them.
  static constexpr int kManyPanels = 7;
  /// Rows of a pass over one panel of floats, and over two.
  static constexpr int kDenseRows = 4;
  static constexpr int kDenseRowsOfTwo = 2;
  /// Queries of a pass over keys and values of floats and of 8-bit integers; its blocks at most;
  /// its float accumulators at most.
  static constexpr int kQueries = 2;
  static constexpr int kInt8Queries = 2;
  static constexpr int kScoreBlocks = 1;
  static constexpr int kAttentionChains = 2;
  struct F {
    float v[16];
  };
  struct I {
    std::int32_t v[16];
  };
  struct M {
    bool v[16];
  };
  /// 64 bytes: [16 lanes][4].
  struct B {
    std::uint8_t v[64];
  };

  template <class R, class Fn>
  INGOT_INLINE static R each(Fn fn) {
    R r;
    for (int i = 0; i < 16; ++i) r.v[i] = fn(i);
    return r;
  }

  static F splat(float a) {
    return each<F>([=](int) { return a; });
  }
  static I splat_int(std::int32_t a) {
    return each<I>([=](int) { return a; });
  }
  static F add(F a, F b) {
    return each<F>([&](int i) { return a.v[i] + b.v[i]; });
  }
  static F sub(F a, F b) {
    return each<F>([&](int i) { return a.v[i] - b.v[i]; });
  }
  static F mul(F a, F b) {
    return each<F>([&](int i) { return a.v[i] * b.v[i]; });
  }
  static F div(F a, F b) {
    return each<F>([&](int i) { return a.v[i] / b.v[i]; });
  }
  static F fma(F a, F b, F c) {
    return each<F>([&](int i) { return __builtin_fmaf(a.v[i], b.v[i], c.v[i]); });
  }
  static F sqrt(F a) {
    return each<F>([&](int i) { return __builtin_sqrtf(a.v[i]); });
  }
  static M lt(F a, F b) {
    return each<M>([&](int i) { return a.v[i] < b.v[i]; });
  }
  static M le(F a, F b) {
    return each<M>([&](int i) { return a.v[i] <= b.v[i]; });
  }
  /// Bit i is lane i.
  static std::uint32_t to_bits(M m) {
    std::uint32_t bits = 0;
    for (int i = 0; i < 16; ++i) bits |= std::uint32_t{m.v[i]} << i;
    return bits;
  }
  static F select(M m, F yes, F no) {
    return each<F>([&](int i) { return m.v[i] ? yes.v[i] : no.v[i]; });
  }
  static F max(F a, F b) {
    return each<F>([&](int i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; });
  }
  static I bits(F a) {
    return each<I>([&](int i) { return __builtin_bit_cast(std::int32_t, a.v[i]); });
  }
  static F from_bits(I a) {
    return each<F>([&](int i) { return __builtin_bit_cast(float, a.v[i]); });
  }
  static I add_int(I a, I b) {
    return each<I>([&](int i) { return wrap(word(a.v[i]) + word(b.v[i])); });
  }
  static I sub_int(I a, I b) {
    return each<I>([&](int i) { return wrap(word(a.v[i]) - word(b.v[i])); });
  }
  static I and_int(I a, I b) {
    return each<I>([&](int i) { return a.v[i] & b.v[i]; });
  }
  static I or_int(I a, I b) {
    return each<I>([&](int i) { return a.v[i] | b.v[i]; });
  }
  template <int n>
  static I shl(I a) {
    return each<I>([&](int i) { return wrap(word(a.v[i]) << n); });
  }
  template <int n>
  static I shr(I a) {
    return each<I>([&](int i) { return wrap(word(a.v[i]) >> n); });
  }
  template <int n>
  static I sar(I a) {
    return each<I>([&](int i) { return a.v[i] >> n; });
  }
  static F to_float(I a) {
    return each<F>([&](int i) { return static_cast<float>(a.v[i]); });
  }

  /// Lanes [0, n) from memory, the others zero; n in [0, 16].
  static F load(const float* p, int n = 16) {
    return each<F>([&](int i) { return i < n ? p[i] : 0.0f; });
  }
  static void store(float* p, F a, int n = 16) {
    for (int i = 0; i < n; ++i) p[i] = a.v[i];
  }
  /// 16 half floats or bfloat16, widened exactly.
  static F load_half(const void* p) {
    return each<F>([&](int i) { return half_to_float(load16(p, i)); });
  }
  /// Rounded to nearest even; NaN stays NaN, with any payload.
  static void store_half(void* p, F a) {
    for (int i = 0; i < 16; ++i) {
      const std::uint16_t bits = float_to_half(a.v[i]);
      __builtin_memcpy(static_cast<std::uint8_t*>(p) + 2 * i, &bits, 2);
    }
  }
  static F load_bfloat16(const void* p) {
    return each<F>([&](int i) { return bfloat16_to_float(load16(p, i)); });
  }
  static I load_int8(const void* p) {
    return each<I>([&](int i) -> std::int32_t { return static_cast<const std::int8_t*>(p)[i]; });
  }
  static I load_uint8(const void* p) {
    return each<I>([&](int i) -> std::int32_t { return static_cast<const std::uint8_t*>(p)[i]; });
  }
  /// The low byte of each lane; lanes hold values in [-128, 127].
  static void store_int8(std::int8_t* p, I a) {
    for (int i = 0; i < 16; ++i) p[i] = static_cast<std::int8_t>(a.v[i]);
  }
  /// The low bytes of four times 16 lanes.
  static void store_int8(std::int8_t* p, const I (&a)[4]) {
    for (int i = 0; i < 4; ++i) store_int8(p + 16 * i, a[i]);
  }

  static B load_bytes(const void* p) {
    B b;
    __builtin_memcpy(b.v, p, 64);
    return b;
  }
  static void store_bytes(void* p, B a) { __builtin_memcpy(p, a.v, 64); }
  /// a + n for every byte; no sum exceeds 255.
  template <int n>
  static B add_bytes(B a) {
    for (std::uint8_t& v : a.v) v = static_cast<std::uint8_t>(v + n);
    return a;
  }
  /// (a >> shift) & mask for every byte.
  template <int shift, int mask>
  static B field(B a) {
    B r;
    for (int i = 0; i < 64; ++i) r.v[i] = static_cast<std::uint8_t>((a.v[i] >> shift) & mask);
    return r;
  }
  /// For every byte low | (high, whose bit `from` becomes bit `to`, & mask).
  template <int from, int to, int mask>
  static B join(B low, B high) {
    B r;
    for (int i = 0; i < 64; ++i) {
      const int moved = from > to ? high.v[i] >> (from - to) : high.v[i] << (to - from);
      r.v[i] = static_cast<std::uint8_t>(low.v[i] | (moved & mask));
    }
    return r;
  }
  /// table[a] for every byte of a, which is below 16.
  static B lookup(const std::uint8_t* table, B a) {
    B r;
    for (int i = 0; i < 64; ++i) r.v[i] = table[a.v[i]];
    return r;
  }
  /// Flips the top bit of every byte: u to u - 128.
  static B flip_sign(B a) {
    for (std::uint8_t& v : a.v) v = static_cast<std::uint8_t>(v ^ 0x80);
    return a;
  }
  /// acc + sum over k of w[lane][k] * x[k], exactly; w unsigned, or signed where `kSigned`, in
  /// which case x is within [-127, 127].
  template <bool kSigned>
  static I dot(I acc, B w, const std::int8_t* x) {
    return each<I>([&](int i) {
      std::int32_t sum = acc.v[i];
      for (int k = 0; k < 4; ++k) {
        const std::uint8_t u = w.v[4 * i + k];
        sum += (kSigned ? static_cast<std::int8_t>(u) : static_cast<int>(u)) * x[k];
      }
      return sum;
    });
  }
  /// acc + sum over k of v[lane][k] * x[k], exactly; v signed, x within [0, 127].
  static I dot_signed(I acc, B v, const std::int8_t* x) { return dot<true>(acc, v, x); }

  /// The "tree" of exactness.md: lane i += lane i + 8, then + 4, + 2, + 1.
  static float tree(F a) {
    for (int half = 8; half > 0; half /= 2) {
      for (int i = 0; i < half; ++i) a.v[i] += a.v[i + half];
    }
    return a.v[0];
  }
  /// The largest lane: `max` in the order of `tree`, for values without NaN.
  static float max_lane(F a) {
    for (int half = 8; half > 0; half /= 2) {
      for (int i = 0; i < half; ++i) a.v[i] = a.v[i] > a.v[i + half] ? a.v[i] : a.v[i + half];
    }
    return a.v[0];
  }
  static I max_int(I a, I b) {
    return each<I>([&](int i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; });
  }
  static std::int32_t max_int(I a) {
    std::int32_t m = a.v[0];
    for (int i = 1; i < 16; ++i) m = a.v[i] > m ? a.v[i] : m;
    return m;
  }
  static std::int32_t sum_int(I a) {
    std::int32_t s = 0;
    for (const std::int32_t v : a.v) s += v;
    return s;
  }

 private:
  static std::uint32_t word(std::int32_t a) { return static_cast<std::uint32_t>(a); }
  static std::int32_t wrap(std::uint32_t a) { return static_cast<std::int32_t>(a); }
  static std::uint16_t load16(const void* p, int i) {
    std::uint16_t bits;
    __builtin_memcpy(&bits, static_cast<const std::uint8_t*>(p) + 2 * i, 2);
    return bits;
  }
};

}  // namespace
}  // namespace ingot
