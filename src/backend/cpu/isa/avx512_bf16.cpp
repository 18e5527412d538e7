// The kernel table for AVX-512 with VNNI and BF16: products of pairs of bfloat16, and the rest of
// avx512.
#include "backend/cpu/isa/avx512_lanes.h"
#include "backend/cpu/kernels/attention.inl"
#include "backend/cpu/kernels/linear_pairs.inl"

namespace ingot {

namespace {

struct Avx512Bf16Lanes : Avx512Lanes<true> {
  // bfloat16.inl describes these members.

  /// VDPBF16PS takes the upper halves first: docs/decisions/0021-bf16-order.md. It reads and writes
  /// denormals as zero, and these sums never have any.
  INGOT_INLINE static F dot_pairs(F sum, I w, const float* x) {
    // Inline assembly, because compilers emit two instructions for the intrinsics.
    __asm__("vdpbf16ps %2%{1to16%}, %1, %0" : "+v"(sum) : "v"(w), "m"(*x));
    return sum;
  }
  INGOT_INLINE static I even_words(I a, I b) {
    return _mm512_mask_blend_epi16(kLowerHalves, shl<16>(a), b);
  }
  INGOT_INLINE static I odd_words(I a, I b) {
    return _mm512_mask_blend_epi16(kLowerHalves, a, shr<16>(b));
  }
  INGOT_INLINE static I factor_words(F a, F b) {
    return _mm512_permutex2var_epi16(bits(a), _mm512_load_si512(kFactorOrder), bits(b));
  }

 private:
  static constexpr __mmask32 kLowerHalves = 0x55555555;
  /// The place of each half of a word in two vectors of 16 numbers. A number is in the upper one of
  /// its two places.
  alignas(64) static constexpr std::uint16_t kFactorOrder[32] = {
      5, 1, 13, 9,  21, 17, 29, 25, 37, 33, 45, 41, 53, 49, 61, 57,
      7, 3, 15, 11, 23, 19, 31, 27, 39, 35, 47, 43, 55, 51, 63, 59};
};

using Lanes = Avx512Bf16Lanes;

void attention(const AttentionArgs& a) {
  if (a.type != KvType::kBF16) return avx512_kernels().attention(a);
  attend<Lanes, KvType::kBF16>(a);
}

void split(const AttentionArgs& a, std::int32_t number, float* states) {
  if (a.type != KvType::kBF16) return avx512_kernels().attention_split(a, number, states);
  attend_split<Lanes, KvType::kBF16>(a, number, states);
}

constexpr int kPeakChains = 12;

/// In each round adds 16 products of pairs to each lane of kPeakChains chains; returns the sum of
/// all lanes.
float peak_of_pairs(std::int64_t rounds, const PeakOperands& operands) {
  const Lanes::I w = load_pairs<Lanes>(reinterpret_cast<const std::byte*>(operands.tile_w));
  const auto* x = reinterpret_cast<const float*>(operands.tile_f);
  Lanes::F sums[kPeakChains];
#pragma GCC unroll 16
  for (Lanes::F& sum : sums) {
    sum = Lanes::splat(0);
    __asm__("" : "+v"(sum));  // or the compiler finds that all chains are equal
  }
  for (std::int64_t i = 0; i < 16 * rounds; ++i) {
#pragma GCC unroll 16
    for (Lanes::F& sum : sums) sum = Lanes::dot_pairs(sum, w, x + i % 16);
  }
  Lanes::F total = Lanes::splat(0);
#pragma GCC unroll 16
  for (const Lanes::F sum : sums) total = Lanes::add(total, sum);
  return Lanes::tree(total);
}

KernelTable make_table() {
  KernelTable table = avx512_kernels();
  table.name = "avx512-bf16";
  table.linear[static_cast<std::size_t>(BF16::kFormat)] = pair_kernel<Lanes>();
  table.peak_bf16 = {.chains = kPeakChains, .run = peak_of_pairs};
  table.attention = attention;
  table.attention_split = split;
  return table;
}

}  // namespace

const KernelTable& avx512_bf16_kernels() {
  static const KernelTable kTable = make_table();
  return kTable;
}

}  // namespace ingot
