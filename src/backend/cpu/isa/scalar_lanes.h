// ScalarLanes: a 16-lane vector type in plain C++, for the scalar kernel table. It defines what the
// types for AVX2, AVX-512 and NEON must compute.
#pragma once

#include <cstdint>

#include "base/half.h"
#include "base/inline.h"

namespace ingot {
namespace {  // internal linkage: each file has its own copy of this code

/// A type with the operations of base/lanes.h for 16 lanes. Kernels also use its other operations:
/// loads and stores, bytes, dot products, and reductions in a fixed order.
struct ScalarLanes {
  /// Whether `dot` takes unsigned bytes only up to 127. If so, kernels make larger weights signed.
  static constexpr bool kWideSigned = false;
  /// Whether linears add pairs of products in 16 bits (kernels/pair_sums.inl). If true, the lanes
  /// type also has V (half of a B or of an I) and the operations that pair_sums.inl uses.
  static constexpr bool kPairSums = false;
  /// Number of rows in a pass over one panel, if a group has one scale. kLinearRowsTwoScales is for
  /// groups with two scales. The sums of more rows do not fit in registers.
  static constexpr int kLinearRows = 2;
  static constexpr int kLinearRowsTwoScales = 2;
  /// Number of panels in a pass of kPassRows rows. kPassPanelsTwoScales: if a group has two scales.
  static constexpr int kPassPanels = 3;
  static constexpr int kPassPanelsTwoScales = 2;
  static constexpr int kPassRows = 2;
  /// Most rows for which each pass unpacks its panel. `Bytes`: 8-bit codes; `Nibbles`: 4-bit codes.
  static constexpr int kFewRowsOfBytes = 5;
  static constexpr int kFewRowsOfNibbles = 5;
  static constexpr int kFewRowsOfOthers = 5;
  /// Prefetch distance in bytes, for one or two rows and 8-bit weights.
  static constexpr std::int64_t kAheadOfBytes = 5120;
  /// With more rows than kFewRowsOf..., a kernel unpacks this number of panels once for all rows.
  static constexpr int kManyPanels = 7;
  /// Number of rows in a pass over one dense panel. kDenseRowsOfTwo is for a pass over two panels.
  static constexpr int kDenseRows = 4;
  static constexpr int kDenseRowsOfTwo = 2;
  /// Number of rows in a pass over one PairPanel. kPairRowsOfTwo is for a pass over two panels. The
  /// chains of kPairChains rows fit in registers; with kLoadsPairsTwice they fill all registers.
  static constexpr int kPairRows = 4;
  static constexpr int kPairChains = 2;
  static constexpr bool kLoadsPairsTwice = false;
  static constexpr int kPairRowsOfTwo = 0;
  /// Number of queries in an attention pass over floats. kInt8Queries is for 8-bit integers.
  /// A pass has at most kScoreBlocks blocks of 16 keys and kAttentionChains float accumulators.
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
  /// 64 bytes, four in each of 16 lanes.
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
  /// Returns the mask as an integer: bit i is lane i.
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

  /// Loads lanes [0, n) from memory and sets the other lanes to zero; n is in [0, 16].
  static F load(const float* p, int n = 16) {
    return each<F>([&](int i) { return i < n ? p[i] : 0.0f; });
  }
  static void store(float* p, F a, int n = 16) {
    for (int i = 0; i < n; ++i) p[i] = a.v[i];
  }
  /// Loads 16 half floats and converts them to float32, exactly.
  static F load_half(const void* p) {
    return each<F>([&](int i) { return half_to_float(load16(p, i)); });
  }
  /// Stores 16 half floats, rounded to nearest even. NaN stays NaN; its payload may differ.
  static void store_half(void* p, F a) {
    for (int i = 0; i < 16; ++i) {
      const std::uint16_t bits = float_to_half(a.v[i]);
      __builtin_memcpy(static_cast<std::uint8_t*>(p) + 2 * i, &bits, 2);
    }
  }
  static F load_bfloat16(const void* p) {
    return each<F>([&](int i) { return bfloat16_to_float(load16(p, i)); });
  }
  /// Stores the upper half of each lane.
  static void store_upper(std::uint16_t* p, F a) {
    for (int i = 0; i < 16; ++i) {
      p[i] = static_cast<std::uint16_t>(__builtin_bit_cast(std::uint32_t, a.v[i]) >> 16);
    }
  }
  static I load_int8(const void* p) {
    return each<I>([&](int i) -> std::int32_t { return static_cast<const std::int8_t*>(p)[i]; });
  }
  static I load_uint8(const void* p) {
    return each<I>([&](int i) -> std::int32_t { return static_cast<const std::uint8_t*>(p)[i]; });
  }
  /// Stores the low byte of each lane. All lanes are in [-128, 127].
  static void store_int8(std::int8_t* p, I a) {
    for (int i = 0; i < 16; ++i) p[i] = static_cast<std::int8_t>(a.v[i]);
  }
  /// Stores the low bytes of four vectors, one after the other.
  static void store_int8(std::int8_t* p, const I (&a)[4]) {
    for (int i = 0; i < 4; ++i) store_int8(p + 16 * i, a[i]);
  }

  static B load_bytes(const void* p) {
    B b;
    __builtin_memcpy(b.v, p, 64);
    return b;
  }
  static void store_bytes(void* p, B a) { __builtin_memcpy(p, a.v, 64); }
  /// Adds n to every byte. No sum may exceed 255.
  template <int n>
  static B add_bytes(B a) {
    for (std::uint8_t& v : a.v) v = static_cast<std::uint8_t>(v + n);
    return a;
  }
  /// Computes (a >> shift) & mask for every byte.
  template <int shift, int mask>
  static B field(B a) {
    B r;
    for (int i = 0; i < 64; ++i) r.v[i] = static_cast<std::uint8_t>((a.v[i] >> shift) & mask);
    return r;
  }
  /// Computes low | (s & mask) for each byte. s is `high`, shifted to move bit `from` to bit `to`.
  template <int from, int to, int mask>
  static B join(B low, B high) {
    B r;
    for (int i = 0; i < 64; ++i) {
      const int moved = from > to ? high.v[i] >> (from - to) : high.v[i] << (to - from);
      r.v[i] = static_cast<std::uint8_t>(low.v[i] | (moved & mask));
    }
    return r;
  }
  /// Replaces every byte of `a` by its entry in `table`. All bytes are below 16.
  static B lookup(const std::uint8_t* table, B a) {
    B r;
    for (int i = 0; i < 64; ++i) r.v[i] = table[a.v[i]];
    return r;
  }
  /// Flips the top bit of every byte, which turns an unsigned u into the signed u - 128.
  static B flip_sign(B a) {
    for (std::uint8_t& v : a.v) v = static_cast<std::uint8_t>(v ^ 0x80);
    return a;
  }
  /// Returns acc + the exact sum over k of w[lane][k] * x[k]. With `kSigned`, w is signed and x is
  /// in [-127, 127]; without `kSigned`, w is unsigned.
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
  /// Returns acc + the exact sum over k of v[lane][k] * x[k]. v is signed, and x is in [0, 127].
  static I dot_signed(I acc, B v, const std::int8_t* x) { return dot<true>(acc, v, x); }

  /// Adds all lanes in a fixed order: lane i += lane i + 8, then i + 4, i + 2, i + 1.
  static float tree(F a) {
    for (int half = 8; half > 0; half /= 2) {
      for (int i = 0; i < half; ++i) a.v[i] += a.v[i + half];
    }
    return a.v[0];
  }
  /// Returns the largest lane, by `max` in the order of `tree`. No lane may be NaN.
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
