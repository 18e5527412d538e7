// CpuBackend: kv_copy, kv_read and kv_load, which copy KV blocks between, from and to pages.
#include <algorithm>
#include <cstring>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/page_layout.h"
#include "backend/kv_rows.h"
#include "base/half.h"
#include "base/index.h"

namespace ingot {

namespace {

/// The pieces of one head of a token. They lie side by side in KvRows, `stride` apart in the page.
struct Pieces {
  std::int64_t page_at = 0;  ///< bytes from the head's begin in the page
  std::int64_t stride = 0;   ///< bytes between pieces in the page
  std::int64_t bytes = 0;    ///< bytes of a piece
  std::int64_t count = 0;
};

/// One head's key or value of one token: where it lies in a page and in rows, and its size.
struct Part {
  bool value = false;
  std::int64_t token = 0;
  std::int64_t elements = 0;
  std::int64_t page_at = 0;      ///< offset of the head's keys or values in the page
  std::int64_t row_at = 0;       ///< offset of this key or value in the rows
  std::int64_t scale_bytes = 0;  ///< bytes of the scales before the elements in the rows
};

/// Offset of element `d` in a head of BF16.
std::int64_t bf16_at(const PageLayout& layout, const Part& p, std::int64_t d) {
  return p.value ? layout.bf16_value_at(p.token, d) : PageLayout::bf16_key_at(p.token, d);
}

/// The elements of a head of F32 or F16.
Pieces float_pieces(const PageLayout& layout, const Part& p) {
  if (p.value) {
    const std::int64_t at = p.token * layout.value_row * layout.element;
    return {.page_at = at, .bytes = p.elements * layout.element, .count = 1};
  }
  return {.page_at = p.token * layout.element,
          .stride = kBlockTokens * layout.element,
          .bytes = layout.element,
          .count = p.elements};
}

/// Offset of element `d` of token `t` in a head of integers.
std::int64_t int8_at(const Int8Page& page, bool value, std::int64_t t, std::int64_t d) {
  if (value) return page.scale_bytes + t / 4 * 4 * page.cols + 4 * d + t % 4;
  return page.scale_bytes + d / 4 * 4 * kBlockTokens + 4 * t + d % 4;
}

Pieces int8_scales(const Int8Page& page, std::int64_t t) {
  return {.page_at = 4 * t, .stride = 4 * kBlockTokens, .bytes = 4, .count = page.groups};
}

/// Keys are stored with 128 added, which flips the top bit.
std::byte shifted(std::byte q, bool value) { return value ? q : q ^ std::byte{0x80}; }

void read_pieces(const Pieces& p, const std::byte* page, std::byte* rows) {
  for (std::int64_t i = 0; i < p.count; ++i) {
    std::memcpy(rows + i * p.bytes, page + p.page_at + i * p.stride, to_size(p.bytes));
  }
}

void load_pieces(const Pieces& p, const std::byte* rows, std::byte* page) {
  for (std::int64_t i = 0; i < p.count; ++i) {
    std::memcpy(page + p.page_at + i * p.stride, rows + i * p.bytes, to_size(p.bytes));
  }
}

/// Copies the elements of a head of BF16 from a page to rows.
void read_bf16(const PageLayout& layout, const Part& p, const std::byte* head, std::byte* to) {
  for (std::int64_t d = 0; d < p.elements; ++d) {
    std::memcpy(to + 2 * d, head + bf16_at(layout, p, d), 2);
  }
}

/// Copies the elements of a head of BF16 from rows to a page, and writes +0 to the padding.
void load_bf16(const PageLayout& layout, const Part& p, const std::byte* from, std::byte* head) {
  const std::int64_t cols = p.value ? layout.value_row : layout.key_rows;
  for (std::int64_t d = 0; d < cols; ++d) {
    std::uint16_t bits = 0;
    if (d < p.elements) std::memcpy(&bits, from + 2 * d, 2);
    bits = kept_bfloat16(bits);  // a file may hold any bits
    std::memcpy(head + bf16_at(layout, p, d), &bits, 2);
  }
}

/// The layouts of a layer's pages and rows.
struct Layouts {
  PageLayout page;
  KvRows rows;

  Layouts(const Attention& a, KvType type) : page(a, type), rows(a, type) {}
};

/// Calls `visit(part)` for every key and value of a block. If values are in keys, the value's part
/// lies in the key's rows.
template <class Visit>
void each_part(const Attention& a, const Layouts& layouts, Visit visit) {
  const PageLayout& page = layouts.page;
  const KvRows& rows = layouts.rows;
  for (std::int64_t t = 0; t < kBlockTokens; ++t) {
    const std::int64_t row = t * rows.token_bytes;
    for (std::int64_t g = 0; g < a.kv_heads; ++g) {
      visit(Part{.value = false,
                 .token = t,
                 .elements = a.head_dim,
                 .page_at = g * page.k_head,
                 .row_at = row + rows.key_at(g),
                 .scale_bytes = rows.key.scale_bytes});
      const bool in_key = a.values_in_keys;
      visit(Part{.value = true,
                 .token = t,
                 .elements = a.v_dim(),
                 .page_at = page.v_start + g * page.v_head,
                 .row_at = row + (in_key ? rows.key_at(g) : rows.value_at(g)),
                 .scale_bytes = in_key ? rows.key.scale_bytes : rows.value.scale_bytes});
    }
  }
}

void read_block(const Attention& a, const Layouts& layouts, const KvLayer& kv,
                const std::byte* block, std::byte* out) {
  each_part(a, layouts, [&](const Part& p) {
    if (p.value && a.values_in_keys) return;
    const std::byte* head = block + p.page_at;
    std::byte* to = out + p.row_at;
    if (kv.type == KvType::kBF16) return read_bf16(layouts.page, p, head, to);
    if (kv.type != KvType::kInt8) return read_pieces(float_pieces(layouts.page, p), head, to);
    const Int8Page int8(p.elements);
    read_pieces(int8_scales(int8, p.token), head, to);
    for (std::int64_t d = 0; d < p.elements; ++d) {
      to[p.scale_bytes + d] = shifted(head[int8_at(int8, p.value, p.token, d)], p.value);
    }
  });
}

void load_block(const Attention& a, const Layouts& layouts, const KvLayer& kv, const std::byte* in,
                std::byte* block) {
  each_part(a, layouts, [&](const Part& p) {
    std::byte* head = block + p.page_at;
    const std::byte* from = in + p.row_at;
    if (kv.type == KvType::kBF16) return load_bf16(layouts.page, p, from, head);
    if (kv.type != KvType::kInt8) return load_pieces(float_pieces(layouts.page, p), from, head);
    const Int8Page int8(p.elements);
    load_pieces(int8_scales(int8, p.token), from, head);
    for (std::int64_t d = 0; d < int8.cols; ++d) {
      // Elements beyond the head are zeros, as `kv_write` quantises them.
      const std::byte q = d < p.elements ? from[p.scale_bytes + d] : std::byte{0};
      head[int8_at(int8, p.value, p.token, d)] = shifted(q, p.value);
    }
  });
}

/// Calls visit(layouts, layer, the block's page, offset of its rows) for each layer of a KV group.
template <class Visit>
void each_layer(const Attention& a, std::span<const KvLayer> layers, std::int32_t block,
                std::size_t bytes, Visit visit) {
  const Layouts layouts(a, layers.front().type);
  const std::int64_t layer_bytes = layouts.rows.block_bytes;
  INGOT_CHECK(static_cast<std::int64_t>(bytes) == layer_bytes * std::ssize(layers), bytes,
              " bytes for ", layers.size(), " blocks of ", layer_bytes);
  std::int64_t offset = 0;
  for (const KvLayer& kv : layers) {
    INGOT_CHECK(block >= 0 && block < kv.blocks, "block ", block, " of ", kv.blocks);
    visit(layouts, kv, kv.pages + block * kv.block_bytes, offset);
    offset += layer_bytes;
  }
}

}  // namespace

void CpuBackend::kv_copy(std::span<const KvLayer> layers, std::int32_t from, std::int32_t to) {
  for (const KvLayer& kv : layers) {
    std::copy_n(kv.pages + from * kv.block_bytes, kv.block_bytes, kv.pages + to * kv.block_bytes);
  }
}

void CpuBackend::kv_read(const Attention& a, std::span<const KvLayer> layers, std::int32_t block,
                         std::span<std::byte> out) const {
  each_layer(a, layers, block, out.size(),
             [&](const auto& layouts, const KvLayer& kv, const std::byte* page,
                 std::int64_t offset) { read_block(a, layouts, kv, page, out.data() + offset); });
}

void CpuBackend::kv_load(const Attention& a, std::span<const KvLayer> layers, std::int32_t block,
                         std::span<const std::byte> in) {
  each_layer(a, layers, block, in.size(),
             [&](const auto& layouts, const KvLayer& kv, std::byte* page, std::int64_t offset) {
               load_block(a, layouts, kv, in.data() + offset, page);
             });
}

}  // namespace ingot
