// CpuBackend: blocks of keys and values out of pages and back, for what is kept beyond a process.
#include <cstring>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/page_layout.h"
#include "backend/kv_rows.h"

namespace ingot {

namespace {

/// Pieces of one head of a token: in the rows they lie side by side, in its page `stride` apart.
struct Pieces {
  std::int64_t rows_at = 0;  ///< bytes from the head's begin in the rows
  std::int64_t page_at = 0;  ///< bytes from the head's begin in the page
  std::int64_t stride = 0;   ///< bytes from a piece to the next in the page
  std::int64_t bytes = 0;    ///< of a piece
  std::int64_t count = 0;
};

/// Calls `visit(pieces)` for the elements of token `t`, and for what goes with them.
template <class Visit>
void each_float_piece(const PageLayout& layout, std::int64_t head_dim, bool value, std::int64_t t,
                      Visit visit) {
  if (value) {
    const std::int64_t at = t * layout.value_row * layout.element;
    return visit(Pieces{.page_at = at, .bytes = head_dim * layout.element, .count = 1});
  }
  visit(Pieces{.page_at = t * layout.element,
               .stride = kBlockTokens * layout.element,
               .bytes = layout.element,
               .count = head_dim});
}

/// Where element `d` of token `t` lies in a head of integers.
std::int64_t int8_at(const Int8Page& page, bool value, std::int64_t t, std::int64_t d) {
  if (value) return page.scale_bytes + t / 4 * 4 * page.cols + 4 * d + t % 4;
  return page.scale_bytes + d / 4 * 4 * kBlockTokens + 4 * t + d % 4;
}

Pieces int8_scales(const Int8Page& page, std::int64_t t) {
  return {.page_at = 4 * t, .stride = 4 * kBlockTokens, .bytes = 4, .count = page.groups};
}

/// Keys are stored with 128 added, which turns the top bit over.
std::byte shifted(std::byte q, bool value) { return value ? q : q ^ std::byte{0x80}; }

void read_pieces(const Pieces& p, const std::byte* page, std::byte* rows) {
  for (std::int64_t i = 0; i < p.count; ++i) {
    std::memcpy(rows + p.rows_at + i * p.bytes, page + p.page_at + i * p.stride,
                static_cast<std::size_t>(p.bytes));
  }
}

void load_pieces(const Pieces& p, const std::byte* rows, std::byte* page) {
  for (std::int64_t i = 0; i < p.count; ++i) {
    std::memcpy(page + p.page_at + i * p.stride, rows + p.rows_at + i * p.bytes,
                static_cast<std::size_t>(p.bytes));
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

void check_block(const KvLayer& kv, std::int32_t block, std::size_t bytes, const KvRows& rows) {
  INGOT_CHECK(block >= 0 && block < kv.blocks, "block ", block, " of ", kv.blocks);
  INGOT_CHECK(static_cast<std::int64_t>(bytes) == rows.block_bytes, bytes, " bytes for a block of ",
              rows.block_bytes);
}

}  // namespace

void CpuBackend::kv_read(const Attention& a, const KvLayer& kv, std::int32_t block,
                         std::span<std::byte> out) const {
  const PageLayout layout(a, kv.type);
  const KvRows rows(a, kv.type);
  const Int8Page page(a.head_dim);
  check_block(kv, block, out.size(), rows);
  const std::byte* from = kv.pages + block * kv.block_bytes;
  each_head(a, layout, rows, [&](std::int64_t t, bool value, std::int64_t at, std::int64_t row) {
    const std::byte* head = from + at;
    std::byte* to = out.data() + row;
    if (kv.type != KvType::kInt8) {
      each_float_piece(layout, a.head_dim, value, t,
                       [&](const Pieces& p) { read_pieces(p, head, to); });
      return;
    }
    read_pieces(int8_scales(page, t), head, to);
    for (std::int64_t d = 0; d < a.head_dim; ++d) {
      to[rows.scale_bytes + d] = shifted(head[int8_at(page, value, t, d)], value);
    }
  });
}

void CpuBackend::kv_load(const Attention& a, const KvLayer& kv, std::int32_t block,
                         std::span<const std::byte> in) {
  const PageLayout layout(a, kv.type);
  const KvRows rows(a, kv.type);
  const Int8Page page(a.head_dim);
  check_block(kv, block, in.size(), rows);
  std::byte* into = kv.pages + block * kv.block_bytes;
  each_head(a, layout, rows, [&](std::int64_t t, bool value, std::int64_t at, std::int64_t row) {
    std::byte* head = into + at;
    const std::byte* from = in.data() + row;
    if (kv.type != KvType::kInt8) {
      each_float_piece(layout, a.head_dim, value, t,
                       [&](const Pieces& p) { load_pieces(p, from, head); });
      return;
    }
    load_pieces(int8_scales(page, t), from, head);
    for (std::int64_t d = 0; d < page.cols; ++d) {
      // Elements behind the head are zeros, as `kv_write` quantises them.
      const std::byte q = d < a.head_dim ? from[rows.scale_bytes + d] : std::byte{0};
      head[int8_at(page, value, t, d)] = shifted(q, value);
    }
  });
}

}  // namespace ingot
