// Linear kernel for block formats: rows times panels of 16 outputs (backend.h, `linear`). Dense
// formats are in linear_dense.inl.
//
// Written over a lanes type L; included by the file of each instruction set. Few and many rows run
// the same code. Only the sizes of passes differ, and whether groups are unpacked when they are
// read or once for all rows. No sum crosses rows.
#pragma once

#include "backend/cpu/kernels/linear_pairs.inl"
#include "backend/cpu/kernels/pair_sums.inl"

namespace ingot {
namespace {

/// Prefetches all lines of bytes [at, at + bytes), because the processor alone prefetches too late.
/// Consecutive calls must not skip a line, since a row would wait for it.
INGOT_INLINE void prefetch_bytes(const unsigned char* at, int bytes) {
  for (int i = 0; i < bytes; i += kLine) prefetch_line(at + i);
}

/// Number of places in a group's code where a line can be prefetched: before the products, and at
/// each of the eight quads.
inline constexpr int kPlaces = 9;

/// Prefetches kBytes from `at` on during each group, and advances `at`. The lines are spread evenly
/// over the group's places. All at once they would fill the line buffers, which reads of weights
/// also need.
template <int kBytes>
struct PrefetchBesideGroups {
  const unsigned char* at;

  /// Called in each group at the places 0 to 8, in order.
  template <int kPlace>
  INGOT_INLINE void at_place() {
    constexpr int kLines = (kBytes + kLine - 1) / kLine;
    static_assert(kLines <= kPlaces);
    constexpr int kNext = (kPlace * kLines + kPlaces - 1) / kPlaces;
    if constexpr (kNext < kLines && kNext * kPlaces / kLines == kPlace) {
      prefetch_line(at + kLine * kNext);
    }
    if constexpr (kPlace == kPlaces - 1) at += kBytes;
  }
};

/// Prefetches no line.
struct NoPrefetch {
  template <int kPlace>
  INGOT_INLINE void at_place() {}
};

/// Runs the places from kPlace on.
template <int kPlace, class Prefetch>
INGOT_INLINE void at_places(Prefetch& prefetch) {
  if constexpr (kPlace < kPlaces) {
    prefetch.template at_place<kPlace>();
    at_places<kPlace + 1>(prefetch);
  }
}

/// Adds the integer dot products of one group of each panel to i[panel][row][scale].
template <class L, int kPanels, int kRows, int kQuad, class Group, class Prefetch>
INGOT_INLINE void dot_quads(const Group* const* group, const QuantisedRows<kRows>& x,
                            Prefetch& prefetch, typename L::I (*i)[kRows][Group::Kind::kScales]) {
  if constexpr (L::kPairSums) {
    at_places<1>(prefetch);  // sums of pairs go through the quads twice
    for (int p = 0; p < kPanels; ++p) dot_pairs<L, kRows>(*group[p], x, i[p]);
  } else if constexpr (kQuad < 8) {
    using Kind = typename Group::Kind;
    prefetch.template at_place<1 + kQuad>();
    typename L::B w[kPanels];
    for (int p = 0; p < kPanels; ++p) w[p] = group[p]->template quad<kQuad>();
    constexpr int j = Kind::kScales == 2 ? kQuad / 4 : 0;
    for (int r = 0; r < kRows; ++r) {
      const std::int8_t* const four = x.of(r).q[kQuad][x.at(r)];
      for (int p = 0; p < kPanels; ++p) {
        typename L::I& sum = i[p][r][j];
        if constexpr (kPanels == 1 && !Kind::kSigned &&
                      requires { L::dot_alone(sum, w[p], four); }) {
          sum = L::dot_alone(sum, w[p], four);
        } else {
          sum = L::template dot<Kind::kSigned>(sum, w[p], four);
        }
      }
    }
    dot_quads<L, kPanels, kRows, kQuad + 1>(group, x, prefetch, i);
  }
}

/// Initial value of the dot product of scale j: -offset * sum of the scale's inputs, because
/// weights are stored as value + offset. Plus kIntBits if the result's bits are read as a float.
template <class L, class Kind, int kRows>
INGOT_INLINE typename L::I start_of_dot(const QuantisedRows<kRows>& x, int r, int j) {
  const QuantisedGroup& g = x.of(r);
  const std::int64_t at = x.at(r);
  constexpr bool kTwo = Kind::kScales == 2;
  const bool bits = Kind::kBits && j == 0;
  if constexpr (Kind::kShift < 0) {
    return L::splat_int(bits ? kIntBits : 0);
  } else if constexpr (Kind::kShift == 7 && Kind::kBits) {
    return L::splat_int(kTwo ? g.bits_minus_128_half[j][at] : g.bits_minus_128_sum[at]);
  } else if constexpr (Kind::kShift == 3 && Kind::kBits && !kTwo) {
    return L::splat_int(g.bits_minus_8_sum[at]);
  } else if constexpr (Kind::kShift == 7 && !kTwo) {
    return L::sub_int(L::splat_int(g.bits_minus_128_sum[at]), L::splat_int(kIntBits));
  } else {
    auto sum = L::splat_int(g.minus_half[j][at]);
    if constexpr (!kTwo) sum = L::add_int(sum, L::splat_int(g.minus_half[1][at]));
    const auto start = L::template shl<Kind::kShift>(sum);
    return bits ? L::add_int(start, L::splat_int(kIntBits)) : start;
  }
}

/// The first scale's sum times the scale.
template <class L, class Group>
INGOT_INLINE typename L::F scaled(typename L::I sum, const Group& group) {
  if constexpr (Group::Kind::kBits) {
    return L::fma(L::from_bits(sum), group.w(0), group.minus_bits());
  } else {
    return L::mul(L::to_float(sum), group.w(0));
  }
}

/// t plus the part of the minimums: fma(-m_j, s_j, t), or +m_j.
template <class L, int kRows, class Group>
INGOT_INLINE typename L::F add_minimums(const Group& group, const QuantisedRows<kRows>& x, int r,
                                        typename L::F t) {
  const QuantisedGroup& g = x.of(r);
  if constexpr (Group::Kind::kScales == 1) {
    return L::fma(group.m(0), L::splat(g.minus_sum_float[x.at(r)]), t);
  } else {
    for (int j = 0; j < 2; ++j) {
      t = L::fma(group.m(j), L::to_float(L::splat_int(g.minus_half[j][x.at(r)])), t);
    }
    return t;
  }
}

/// acc[p] += one group of 32 of each panel, for each row.
template <class L, int kPanels, int kRows, class Group, class Prefetch>
INGOT_INLINE void add_group(const Group* const* group, const QuantisedRows<kRows>& x,
                            Prefetch& prefetch, typename L::F (*acc)[kRows]) {
  using Kind = typename Group::Kind;
  prefetch.template at_place<0>();
  typename L::I i[kPanels][kRows][Kind::kScales];
  for (int r = 0; r < kRows; ++r) {
    for (int j = 0; j < Kind::kScales; ++j) {
      const auto start = start_of_dot<L, Kind, kRows>(x, r, j);
      for (int p = 0; p < kPanels; ++p) i[p][r][j] = start;
    }
  }
  dot_quads<L, kPanels, kRows, 0>(group, x, prefetch, i);
  for (int r = 0; r < kRows; ++r) {
    for (int p = 0; p < kPanels; ++p) {
      auto t = scaled<L>(i[p][r][0], *group[p]);
      if constexpr (Kind::kScales == 2) t = L::fma(L::to_float(i[p][r][1]), group[p]->w(1), t);
      if constexpr (Kind::kHasMin) t = add_minimums<L, kRows>(*group[p], x, r, t);
      acc[p][r] = L::fma(t, L::splat(x.of(r).d[x.at(r)]), acc[p][r]);
    }
  }
}

/// Largest number of rows in a pass over one panel.
template <class L, class F>
inline constexpr int kRowsAlone = F::kScales == 2 ? L::kLinearRowsTwoScales : L::kLinearRows;

/// Up to this number of rows, each pass unpacks the panel. Larger for formats that unpack fast.
template <class L, class F>
inline constexpr int kFewRowsOf = F::kBits == 8   ? L::kFewRowsOfBytes
                                  : F::kBits == 4 ? L::kFewRowsOfNibbles
                                                  : L::kFewRowsOfOthers;

/// Bytes of a group of 32 in a packed panel, with its share of the block's header.
template <class F>
inline constexpr int kPackedBytes = [] {
  static_assert(Panel<F>::kBlockBytes % Panel<F>::kGroups == 0);
  return Panel<F>::kBlockBytes / Panel<F>::kGroups;
}();

/// Prefetches the output lines of one panel for kRows rows. A store that misses the cache would
/// delay all later stores; a segment's products take long enough to hide this. If rows are not
/// whole lines, the first line of a panel is the last line of the previous panel.
template <int kRows>
INGOT_INLINE void prefetch_outputs(const PanelArgs& a, std::int64_t row) {
  const float* const last = a.out + a.columns - 1;
  for (int r = 0; r < kRows; ++r) prefetch_to_write(last + (row + r) * a.out_stride);
}

/// Multiplies rows [row, row + kRows) with the segment that begins at input `k`, packed at `p`, and
/// unpacks it meanwhile. Prefetches 1 / kShares of a segment's bytes from `ahead` on.
template <class L, class F, int kRows, int kShares>
void packed_rows(const PanelArgs& a, const unsigned char* p, const unsigned char* ahead,
                 std::int64_t k, std::int64_t row) {
  QuantisedRows<kRows> x(a, row, k);
  if (k == 0) prefetch_outputs<kRows>(a, row);
  const std::int64_t end = segment_end(k, a.cols);
  PrefetchBesideGroups<(kPackedBytes<F> + kShares - 1) / kShares> prefetch{ahead};
  typename L::F acc[1][kRows];
  clear<L, kRows>(acc[0]);
  for (std::int64_t at = k; at < end; at += F::kBlock, p += Panel<F>::kBlockBytes) {
    for_groups<L, F>(p, [&](const PackedGroup<L, F>& group) {
      const PackedGroup<L, F>* const groups[] = {&group};
      add_group<L, 1, kRows>(groups, x, prefetch, acc);
      x.next_group();
    });
  }
  add_segment<L, kRows>(a, row, kRows, k, acc[0]);
}

/// Prefetch distance in bytes of a single pass of kRows rows, the fastest on a Zen 4
/// (docs/kernels.md). The processor also prefetches; the fewer instructions a row has, the further
/// ahead. If both distances add up to 4 or 8 KiB, they hit equal places of different memory pages,
/// and the Zen 4 is slow.
template <class L, class F, int kRows>
inline constexpr std::int64_t kAheadOfPass = F::kBits < 8 ? 6144
                                             : kRows <= 2 ? L::kAheadOfBytes
                                                          : 5120;

/// Multiplies few rows with a panel, segment by segment; each pass unpacks the segment again. A
/// single pass prefetches its own next lines. When several passes run, each prefetches a share of
/// the next segment: 1/2, 1/4 or 1/8, as a constant. Passes beyond the last share prefetch that
/// share again, which costs less than a late line.
template <class L, class F>
INGOT_INLINE void few_rows(const PanelArgs& a) {
  constexpr int kMost = kRowsAlone<L, F>;
  constexpr int kFullPasses = kFewRowsOf<L, F> / kMost;
  const std::int64_t segment_bytes = Panel<F>::bytes(segment_end(0, a.cols));
  const int passes = passes_of<kMost>(a.rows);
  const auto* p = reinterpret_cast<const unsigned char*>(a.panel);
  for (std::int64_t k = 0; k < a.cols; k += kSegment) {
    const std::int64_t bytes = Panel<F>::bytes(segment_end(k, a.cols) - k);
    int pass = 0;
    for_rows<kMost>(0, a.rows, [&]<int kRows>(std::int64_t row) {
      const auto with_shares = [&]<int kShares>() {
        const std::int64_t at = bytes / kShares * (pass < kShares ? pass : kShares - 1);
        packed_rows<L, F, kRows, kShares>(a, p, p + segment_bytes + at, k, row);
      };
      const auto one_of_several = [&] {
        if constexpr (kFullPasses >= 8) {
          if (passes >= 8) return with_shares.template operator()<8>();
        }
        if constexpr (kFullPasses >= 4) {
          if (passes >= 4) return with_shares.template operator()<4>();
        }
        with_shares.template operator()<2>();
      };
      if (passes == 1) {
        packed_rows<L, F, kRows, 1>(a, p, p + kAheadOfPass<L, F, kRows>, k, row);
      } else {
        one_of_several();
      }
      ++pass;
    });
    p += bytes;
  }
}

/// The groups of a segment of a panel, unpacked.
template <class L, class F>
using ExpandedSegment = ExpandedGroup<L, ExpandedKind<L, F>>[kSegment / kGroup];

/// Unpacks the segment of `bytes` bytes at `p`.
template <class L, class F>
INGOT_INLINE void expand_segment(const unsigned char* p, std::int64_t bytes,
                                 ExpandedSegment<L, F>& groups) {
  auto* group = groups;
  for (const unsigned char* end = p + bytes; p < end; p += Panel<F>::kBlockBytes) {
    for_groups<L, F>(p, [&](const PackedGroup<L, F>& g) { expand_group(g, *group++); });
  }
}

/// The packed segments that a pass prefetches, and the number of the pass.
struct NextPacked {
  const unsigned char* first = nullptr;  ///< the first panel's; the others lie panel_bytes apart
  std::int64_t cols = 0;                 ///< inputs of each
  int pass = 0;
  int passes = 1;
};

/// Multiplies rows [row, row + kRows) with the unpacked segments of kPanels panels that begin at
/// `k`. Pass i of n prefetches groups i, i + n, i + 2 n, ... of the next segments, one with each
/// group that it computes: all at once would fill the line buffers.
template <class L, class F, int kPanels, int kRows>
void segment_rows(const PanelArgs& a, const ExpandedSegment<L, F>* groups, const NextPacked& next,
                  std::int64_t k, std::int64_t row) {
  QuantisedRows<kRows> x(a, row, k);
  typename L::F acc[kPanels][kRows];
#pragma GCC unroll 4
  for (int p = 0; p < kPanels; ++p) clear<L, kRows>(acc[p]);
  const auto count = static_cast<int>((segment_end(k, a.cols) - k) / kGroup);
  const int bytes = (static_cast<int>(next.cols / kGroup) + count - 1) / count * kPackedBytes<F>;
  // With more passes than groups, the last passes prefetch: their lines are used soon.
  const int idle = next.passes > count ? next.passes - count : 0;
  int wait = next.pass < idle ? count : next.pass - idle;
  const unsigned char* ahead = next.first;
  for (int g = 0; g < count; ++g) {
    const ExpandedGroup<L, ExpandedKind<L, F>>* group[kPanels];
    for (int p = 0; p < kPanels; ++p) group[p] = &groups[p][g];
    if (wait == 0) {
      for (int p = 0; p < kPanels; ++p) prefetch_bytes(ahead + p * a.panel_bytes, bytes);
      wait = next.passes;
    }
    --wait;
    ahead += bytes;
    NoPrefetch prefetch;
    add_group<L, kPanels, kRows>(group, x, prefetch, acc);
    x.next_group();
  }
#pragma GCC unroll 4
  for (int p = 0; p < kPanels; ++p) add_segment<L, kRows>(panel_of(a, p), row, kRows, k, acc[p]);
}

/// Unpacked panels in a pass. The sums of more panels would not fit in registers, or would be no
/// faster.
template <class L, class F>
inline constexpr int kPassPanels = F::kScales == 2 ? L::kPassPanelsTwoScales : L::kPassPanels;

/// PanelArgs::scratch of a call with many rows.
template <class L, class F>
using LinearScratch = ExpandedSegment<L, F>[L::kManyPanels];

/// Multiplies all rows of `a` with the unpacked segments of its panels that begin at `k`, in tiles
/// of kRowsOfPass rows and kTogether panels. A row tile passes all panels before the next row tile,
/// so that its outputs are written side by side: one panel's outputs are a line in each row.
template <class L, class F, int kTogether, int kRowsOfPass>
INGOT_INLINE void unpacked_rows(const PanelArgs& a, int panels, const LinearScratch<L, F>& groups,
                                NextPacked next, std::int64_t k) {
  next.passes = passes_of<kRowsOfPass>(a.rows);
  for_rows<kRowsOfPass>(0, a.rows, [&]<int kRows>(std::int64_t row) {
    for_panels<kTogether>(0, panels, [&]<int kPanels>(int p) {
      NextPacked of_these = next;
      of_these.first += p * a.panel_bytes;
      segment_rows<L, F, kPanels, kRows>(panels_of(a, p, kPanels), &groups[p], of_these, k, row);
    });
    ++next.pass;
  });
}

/// Multiplies many rows with up to L::kManyPanels panels; unpacks each segment of a panel once.
template <class L, class F>
INGOT_INLINE void many_rows(const PanelArgs& a) {
  auto& groups = *reinterpret_cast<LinearScratch<L, F>*>(a.scratch);
  const int panels = (a.columns + kPanelCols - 1) / kPanelCols;
  const auto* const first = reinterpret_cast<const unsigned char*>(a.panel);
  for (std::int64_t k = 0; k < a.cols; k += kSegment) {
    const std::int64_t end = segment_end(k, a.cols);
    const unsigned char* const packed = first + Panel<F>::bytes(k);
    for (int p = 0; p < panels; ++p) {
      expand_segment<L, F>(packed + p * a.panel_bytes, Panel<F>::bytes(end - k), groups[p]);
    }
    // The next segments; after the last one, the panels that follow.
    NextPacked next{.first = first + Panel<F>::bytes(end), .cols = segment_end(end, a.cols) - end};
    if (end == a.cols) {
      next = {.first = first + panels * a.panel_bytes, .cols = segment_end(0, a.cols)};
    }
    if (panels == 1 || kPassPanels<L, F> == 1) {
      unpacked_rows<L, F, 1, kRowsAlone<L, F>>(a, panels, groups, next, k);
    } else if constexpr (kPassPanels<L, F> > 1) {
      unpacked_rows<L, F, kPassPanels<L, F>, L::kPassRows>(a, panels, groups, next, k);
    }
  }
}

/// Multiplies all rows of `a` with its panels.
template <class L, class F>
void linear_panels(const PanelArgs& a) {
  const bool few = a.rows <= kFewRowsOf<L, F>;
  const int step = few ? 1 : L::kManyPanels;
  for (int p = 0; p * kPanelCols < a.columns; p += step) {
    const PanelArgs some = panels_of(a, p, step);
    if (few) {
      few_rows<L, F>(some);
    } else {
      many_rows<L, F>(some);
    }
  }
}

/// The linear kernel of format F, with the sizes of calls that are fastest.
template <class L, class F>
constexpr LinearKernel linear_kernel() {
  if constexpr (BlockFormat<F>) {
    return {.run = linear_panels<L, F>,
            .panels = L::kManyPanels,
            .many_rows = kFewRowsOf<L, F> + 1,
            .panel_rows_bytes = 1 << 20,
            .scratch = sizeof(LinearScratch<L, F>)};
  } else {
    return dense_kernel<ChainForm<L, F>>();
  }
}

/// The formats whose kernels are compiled together.
enum FormatGroup {
  kBlocksOf32,  ///< and floats
  kBlocksOf256,
};

template <class F>
constexpr FormatGroup group_of() {
  if constexpr (BlockFormat<F>) {
    if (F::kBlock == 256) return kBlocksOf256;
  }
  return kBlocksOf32;
}

/// The kernels of lanes L for a group's formats.
template <class L, FormatGroup kGroupOfFormats>
constexpr LinearKernels linear_kernels() {
  LinearKernels kernels{};
  for_each_type(Formats{}, [&]<class F>() {
    if constexpr (group_of<F>() == kGroupOfFormats) {
      kernels[static_cast<std::size_t>(F::kFormat)] = linear_kernel<L, F>();
    }
  });
  if (kGroupOfFormats == kBlocksOf32) {
    constexpr auto kBf16 = static_cast<std::size_t>(BF16::kFormat);
    kernels[kExactBf16] = kernels[kBf16];
    kernels[kBf16] = pair_kernel<L>();
  }
  return kernels;
}

}  // namespace
}  // namespace ingot
