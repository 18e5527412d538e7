// CpuBackend: kv_copy, kv_read and kv_load, which copy KV blocks between, from and to pages.
#include <algorithm>
#include <cstring>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/page_layout.h"
#include "backend/kv_rows.h"
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

/// The elements of token `t` in a head of floats.
Pieces float_pieces(const PageLayout& layout, std::int64_t head_dim, bool value, std::int64_t t) {
  if (value) {
    const std::int64_t at = t * layout.value_row * layout.element;
    return {.page_at = at, .bytes = head_dim * layout.element, .count = 1};
  }
  return {.page_at = t * layout.element,
          .stride = kBlockTokens * layout.element,
          .bytes = layout.element,
          .count = head_dim};
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

/// Calls `visit(t, value, page offset, rows offset)` for every head of a block.
template <class Visit>
void each_head(const Attention& a, const PageLayout& layout, const KvRows& rows, Visit visit) {
  for (std::int64_t t = 0; t < kBlockTokens; ++t) {
    for (const bool value : {false, true}) {
      for (std::int64_t g = 0; g < a.kv_heads; ++g) {
        const std::int64_t heads = (value ? a.kv_heads : 0) + g;
        visit(t, value, value ? layout.v_start + g * layout.v_head : g * layout.k_head,
              t * rows.token_bytes + heads * rows.head_bytes);
      }
    }
  }
}

/// The layouts of a layer's pages and rows.
struct Layouts {
  PageLayout page;
  KvRows rows;
  Int8Page int8;

  Layouts(const Attention& a, KvType type) : page(a, type), rows(a, type), int8(a.head_dim) {}
};

void read_block(const Attention& a, const Layouts& layouts, const KvLayer& kv,
                const std::byte* block, std::byte* out) {
  each_head(a, layouts.page, layouts.rows,
            [&](std::int64_t t, bool value, std::int64_t at, std::int64_t row) {
              const std::byte* head = block + at;
              std::byte* to = out + row;
              if (kv.type != KvType::kInt8) {
                return read_pieces(float_pieces(layouts.page, a.head_dim, value, t), head, to);
              }
              read_pieces(int8_scales(layouts.int8, t), head, to);
              for (std::int64_t d = 0; d < a.head_dim; ++d) {
                to[layouts.rows.scale_bytes + d] =
                    shifted(head[int8_at(layouts.int8, value, t, d)], value);
              }
            });
}

void load_block(const Attention& a, const Layouts& layouts, const KvLayer& kv, const std::byte* in,
                std::byte* block) {
  each_head(a, layouts.page, layouts.rows,
            [&](std::int64_t t, bool value, std::int64_t at, std::int64_t row) {
              std::byte* head = block + at;
              const std::byte* from = in + row;
              if (kv.type != KvType::kInt8) {
                return load_pieces(float_pieces(layouts.page, a.head_dim, value, t), from, head);
              }
              load_pieces(int8_scales(layouts.int8, t), from, head);
              for (std::int64_t d = 0; d < layouts.int8.cols; ++d) {
                // Elements beyond the head are zeros, as `kv_write` quantises them.
                const std::byte q =
                    d < a.head_dim ? from[layouts.rows.scale_bytes + d] : std::byte{0};
                head[int8_at(layouts.int8, value, t, d)] = shifted(q, value);
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
