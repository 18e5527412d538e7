// Packs weights into panels, and decodes single columns of a panel.
#include "backend/cpu/panel.h"

#include "base/check.h"
#include "base/half.h"
#include "base/index.h"

namespace ingot {

namespace {

using Byte = unsigned char;

Byte* bytes_of(std::byte* p) { return reinterpret_cast<Byte*>(p); }
const Byte* bytes_of(const std::byte* p) { return reinterpret_cast<const Byte*>(p); }

/// Writes the bits of code `k` of column `c` to a zeroed plane of `bits` bits for each code.
void put_bits(Byte* plane, int bits, int c, int k, int value) {
  const int quad = k / 4;
  const int per_vector = 8 / bits;
  const int at = 64 * (quad / per_vector) + 4 * c + k % 4;
  plane[at] = static_cast<Byte>(plane[at] | (value << (bits * (quad % per_vector))));
}

int get_bits(const Byte* plane, int bits, int c, int k) {
  const int quad = k / 4;
  const int per_vector = 8 / bits;
  const int at = 64 * (quad / per_vector) + 4 * c + k % 4;
  return (plane[at] >> (bits * (quad % per_vector))) & ((1 << bits) - 1);
}

void put_half(Byte* p, int index, std::uint16_t bits) { __builtin_memcpy(p + 2 * index, &bits, 2); }

std::uint16_t get_half(const Byte* p, int index) {
  std::uint16_t bits = 0;
  __builtin_memcpy(&bits, p + 2 * index, 2);
  return bits;
}

template <BlockFormat F>
void put_header(Byte* header, int c, const GroupCodes& codes) {
  using P = Panel<F>;
  if constexpr (P::kScaleBytes == 1) {
    header[c] = static_cast<Byte>(codes.d);
  } else {
    // Infinity times an integer is infinity or NaN by the kernel's form; NaN is NaN in all.
    constexpr std::uint16_t kInfinity = 0x7c00, kNaN = 0x7e00;
    put_half(header, c, (codes.d & 0x7fff) == kInfinity ? kNaN : codes.d);
  }
  if constexpr (P::kHasMin) put_half(header + P::kScaleBytes * kPanelCols, c, codes.m);
}

/// Writes column `c` of a group. The bytes of columns that are not written yet are zero.
template <BlockFormat F>
void put_group(Byte* group, int c, const GroupCodes& codes) {
  using P = Panel<F>;
  if constexpr (F::kSubScales) {
    for (int j = 0; j < F::kScales; ++j) {
      const int scale = codes.scale[j];
      const int min = codes.min[j];
      group[kPanelCols * j + c] = static_cast<Byte>(P::kNibbleScales ? scale | min << 4 : scale);
      if constexpr (P::kGroupMinBytes != 0) {
        group[P::kGroupScaleBytes + kPanelCols * j + c] = static_cast<Byte>(min);
      }
    }
  }
  Byte* low = group + P::kGroupScaleBytes + P::kGroupMinBytes;
  for (int k = 0; k < kGroup; ++k) {
    const int code = codes.code[k];
    put_bits(low, P::kLowBits, c, k, code & ((1 << P::kLowBits) - 1));
    if constexpr (P::kHighBits != 0) {
      put_bits(low + P::kLowBytes, P::kHighBits, c, k, code >> P::kLowBits);
    }
  }
}

/// The inverse of put_header and put_group.
template <BlockFormat F>
GroupCodes get_group(const Byte* header, const Byte* group, int c) {
  using P = Panel<F>;
  GroupCodes codes{};
  codes.d = P::kScaleBytes == 1 ? header[c] : get_half(header, c);
  if constexpr (P::kHasMin) codes.m = get_half(header + P::kScaleBytes * kPanelCols, c);
  for (int j = 0; j < F::kScales; ++j) {
    if constexpr (F::kSubScales) {
      const Byte scale = group[kPanelCols * j + c];
      codes.scale[j] = static_cast<std::int8_t>(P::kNibbleScales ? scale & 15 : scale);
      if constexpr (P::kNibbleScales) codes.min[j] = static_cast<std::uint8_t>(scale >> 4);
      if constexpr (P::kGroupMinBytes != 0) {
        codes.min[j] = group[P::kGroupScaleBytes + kPanelCols * j + c];
      }
    } else {
      codes.scale[j] = 1;
      codes.min[j] = P::kHasMin ? 1 : 0;
    }
  }
  const Byte* low = group + P::kGroupScaleBytes + P::kGroupMinBytes;
  for (int k = 0; k < kGroup; ++k) {
    int code = get_bits(low, P::kLowBits, c, k);
    if constexpr (P::kHighBits != 0) {
      code |= get_bits(low + P::kLowBytes, P::kHighBits, c, k) << P::kLowBits;
    }
    codes.code[k] = static_cast<std::uint8_t>(code);
  }
  return codes;
}

template <BlockFormat F>
void pack_blocks(View rows, std::int64_t first, Byte* panel) {
  using P = Panel<F>;
  __builtin_memset(panel, 0, to_size(P::bytes(rows.cols)));
  const std::int64_t blocks = rows.cols / F::kBlock;
  for (int c = 0; c < kPanelCols && first + c < rows.rows; ++c) {
    const Byte* source = bytes_of(rows.row_data(first + c));
    Byte* out = panel;
    for (std::int64_t b = 0; b < blocks; ++b, out += P::kBlockBytes) {
      typename F::Block block;
      __builtin_memcpy(&block, source + b * static_cast<std::int64_t>(sizeof block), sizeof block);
      GroupCodes codes;
      for (int g = 0; g < P::kGroups; ++g) {
        F::unpack(block, g, codes);
        if (g == 0) put_header<F>(out, c, codes);
        put_group<F>(out + P::kHeaderBytes + g * P::kGroupBytes, c, codes);
      }
    }
  }
}

template <DenseFormat F>
void pack_dense(View rows, std::int64_t first, Byte* panel) {
  using Element = typename F::Element;
  __builtin_memset(panel, 0, to_size(DensePanel<F>::bytes(rows.cols)));
  for (int c = 0; c < kPanelCols && first + c < rows.rows; ++c) {
    const Byte* source = bytes_of(rows.row_data(first + c));
    for (std::int64_t k = 0; k < rows.cols; ++k) {
      __builtin_memcpy(panel + (k * kPanelCols + c) * std::int64_t{sizeof(Element)},
                       source + k * std::int64_t{sizeof(Element)}, sizeof(Element));
    }
  }
}

template <BlockFormat F>
void unpack_blocks(const Byte* panel, int column, std::int64_t cols, float* out) {
  using P = Panel<F>;
  for (std::int64_t b = 0; b < cols / F::kBlock; ++b, panel += P::kBlockBytes) {
    for (int g = 0; g < P::kGroups; ++g, out += kGroup) {
      const Byte* group = panel + P::kHeaderBytes + g * P::kGroupBytes;
      decode_group<F>(get_group<F>(panel, group, column), out);
    }
  }
}

template <DenseFormat F>
void unpack_dense(const Byte* panel, int column, std::int64_t cols, float* out) {
  using Element = typename F::Element;
  for (std::int64_t k = 0; k < cols; ++k) {
    Element element;
    __builtin_memcpy(&element, panel + (k * kPanelCols + column) * std::int64_t{sizeof(Element)},
                     sizeof element);
    out[k] = F::widen(element);
  }
}

void pack_pairs(View rows, std::int64_t first, Byte* panel) {
  __builtin_memset(panel, 0, to_size(PairPanel::bytes(rows.cols)));
  for (int c = 0; c < kPanelCols && first + c < rows.rows; ++c) {
    const Byte* source = bytes_of(rows.row_data(first + c));
    for (std::int64_t k = 0; k < rows.cols; ++k) {
      const std::uint16_t weight = kept_bfloat16(get_half(source + 2 * k, 0));
      put_half(panel + PairPanel::at(k, c), 0, weight);
    }
  }
}

void unpack_pairs(const Byte* panel, int column, std::int64_t cols, float* out) {
  for (std::int64_t k = 0; k < cols; ++k) {
    out[k] = bfloat16_to_float(get_half(panel + PairPanel::at(k, column), 0));
  }
}

}  // namespace

std::int64_t panel_bytes(PanelKind kind, std::int64_t cols) {
  if (kind.pairs) return PairPanel::bytes(cols);
  return visit_format(kind.format, [cols]<class F>() -> std::int64_t {
    if constexpr (BlockFormat<F>) {
      return Panel<F>::bytes(cols);
    } else {
      return DensePanel<F>::bytes(cols);
    }
  });
}

void pack_panel(View rows, std::int64_t first, bool pairs, std::byte* panel) {
  if (pairs) return pack_pairs(rows, first, bytes_of(panel));
  visit_format(rows.format, [&]<class F>() {
    INGOT_CHECK(rows.cols % F::kBlock == 0, "rows of ", rows.cols, " in blocks of ", F::kBlock);
    if constexpr (BlockFormat<F>) {
      pack_blocks<F>(rows, first, bytes_of(panel));
    } else {
      pack_dense<F>(rows, first, bytes_of(panel));
    }
  });
}

void unpack_column(PanelKind kind, const std::byte* panel, int column, std::int64_t cols,
                   float* out) {
  if (kind.pairs) return unpack_pairs(bytes_of(panel), column, cols, out);
  visit_format(kind.format, [&]<class F>() {
    if constexpr (BlockFormat<F>) {
      unpack_blocks<F>(bytes_of(panel), column, cols, out);
    } else {
      unpack_dense<F>(bytes_of(panel), column, cols, out);
    }
  });
}

void unpack_row(const Weight& w, std::int64_t row, float* out) {
  INGOT_CHECK(row >= 0 && row < w.rows, "row ", row, " of ", w.rows);
  const Segment* s = w.segments.data();
  while (row >= s->first_row + s->rows) ++s;
  row -= s->first_row;
  const std::byte* panel = s->data + row / kPanelCols * s->unit_bytes;
  unpack_column(panel_kind(*s), panel, static_cast<int>(row % kPanelCols), w.cols, out);
}

}  // namespace ingot
