// ReferenceBackend: head norms, rotation, pages of keys and values, attention.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "backend/kv_rows.h"
#include "backend/reference/reference_backend.h"
#include "backend/reference/reference_math.h"
#include "base/half.h"

namespace ingot {

using reference::read_row;
using reference::Row;
using reference::write_row;

namespace {

/// Rotates the elements of a head from `first` on.
void rotate(Row& head, const RopeTable& table, std::int32_t first, std::int32_t position) {
  INGOT_CHECK(position >= 0 && position < table.cos.rows, "position ", position, " of ",
              table.cos.rows);
  const auto pairs = to_size(table.dims / 2);
  for (std::size_t i = 0; i < pairs; ++i) {
    double& a = head[to_size(first) + (table.adjacent_pairs ? 2 * i : i)];
    double& b = head[to_size(first) + (table.adjacent_pairs ? 2 * i + 1 : i + pairs)];
    const double cos = table.cos.row<float>(position)[i];
    const double sin = table.sin.row<float>(position)[i];
    const double turned = a * cos - b * sin;
    b = b * cos + a * sin;
    a = turned;
  }
}

// Pages: blocks of KvRows.

/// The elements of one token's key or value in one kv head.
std::byte* page_head(const Attention& a, const KvLayer& kv, std::int32_t slot, bool value,
                     std::int32_t g) {
  INGOT_CHECK(slot >= 0 && slot / kBlockTokens < kv.blocks, "slot ", slot, " of ", kv.blocks,
              " blocks");
  const KvRows rows(a, kv.type);
  const bool in_key = !value || a.values_in_keys;
  return kv.pages + (slot / kBlockTokens) * kv.block_bytes +
         slot % kBlockTokens * rows.token_bytes + (in_key ? rows.key_at(g) : rows.value_at(g));
}

/// Rounds a group of up to 32 elements to integers times d, where d is the largest magnitude / 127.
/// Returns d.
float quantise(std::span<const float> group, std::int8_t* out) {
  float amax = 0;
  bool finite = true;
  for (const float x : group) {
    amax = std::max(amax, std::abs(x));
    finite = finite && std::isfinite(x);
  }
  const bool any = finite && amax >= 0x1p-100f;
  for (std::size_t i = 0; i < group.size(); ++i) {
    out[i] =
        any ? static_cast<std::int8_t>(std::nearbyint(group[i] * (127.0f / amax))) : std::int8_t{0};
  }
  if (!finite) return std::nanf("");
  return any ? amax / 127.0f : 0.0f;
}

void store_int8(std::span<const float> head, std::byte* to) {
  const std::size_t scale_bytes = (head.size() + 31) / 32 * 4;
  for (std::size_t d = 0; d < head.size(); d += 32) {
    std::int8_t q[32];
    const auto group = head.subspan(d, std::min<std::size_t>(32, head.size() - d));
    const float scale = quantise(group, q);
    std::memcpy(to + d / 32 * 4, &scale, 4);
    std::memcpy(to + scale_bytes + d, q, group.size());
  }
}

void store_head(const float* from, std::int32_t n, KvType type, std::byte* to) {
  if (type == KvType::kInt8) return store_int8({from, to_size(n)}, to);
  for (std::int32_t d = 0; d < n; ++d) {
    const float x = from[d];
    if (type == KvType::kF32) {
      std::memcpy(to + 4 * d, &x, 4);
    } else {
      const std::uint16_t bits = type == KvType::kF16 ? float_to_half(x) : rounded_bfloat16(x);
      std::memcpy(to + 2 * d, &bits, 2);
    }
  }
}

float load_element(const std::byte* head, std::int32_t n, KvType type, std::int32_t d) {
  float value = 0;
  if (type == KvType::kF32) {
    std::memcpy(&value, head + 4 * d, 4);
  } else if (type == KvType::kInt8) {
    std::memcpy(&value, head + d / 32 * 4, 4);
    value *= static_cast<float>(
        std::bit_cast<std::int8_t>(head[KvRows(1, n, KvType::kInt8).key.scale_bytes + d]));
  } else {
    std::uint16_t bits = 0;
    std::memcpy(&bits, head + 2 * d, 2);
    value = type == KvType::kF16 ? half_to_float(bits) : bfloat16_to_float(bits);
  }
  return value;
}

/// The first `count` of a head's n elements.
Row load_head(const std::byte* from, std::int32_t n, KvType type, std::int32_t count) {
  Row head(to_size(count));
  for (std::int32_t d = 0; d < count; ++d) {
    at(head, d) = load_element(from, n, type, d);
  }
  return head;
}

bool sees(const Attention& a, std::int32_t row, std::int32_t key) {
  if (a.causal && key > row) return false;
  return a.window == 0 || std::abs(row - key) < a.window;
}

/// The value of query head `h` that a position bias adds to the score of `key`.
double bias_of(const Attention& a, std::int32_t h, std::int32_t row, std::int32_t key) {
  if (!a.position_bias) return 0;
  const auto reach = static_cast<std::int32_t>((a.position_bias.cols - 1) / 2);
  return a.position_bias.row<float>(h)[reach + std::clamp(key - row, -reach, reach)];
}

/// The query, multiplied by the scale. With KvType::kBF16, rounded as the op rounds it.
Row scaled_query(const Row& q, float scale, KvType type) {
  Row scaled = q;
  for (double& x : scaled) {
    x = type == KvType::kBF16 ? bfloat16_to_float(rounded_bfloat16(static_cast<float>(x) * scale))
                              : x * double{scale};
  }
  return scaled;
}

/// Query head `h` over the visible keys of its sequence; `table` maps block numbers to blocks.
Row attend(const Attention& a, const KvLayer& kv, const std::int32_t* table, std::int32_t row,
           std::int32_t kv_len, std::int32_t h, const Row& query) {
  const std::int32_t g = h / (a.heads / a.kv_heads);
  const Row q = scaled_query(query, a.scale, kv.type);
  Row scores;
  std::vector<std::int32_t> slots;
  for (std::int32_t key = 0; key < kv_len; ++key) {
    if (!sees(a, row, key)) continue;
    slots.push_back(table[key / kBlockTokens] * kBlockTokens + key % kBlockTokens);
    const std::byte* at = page_head(a, kv, slots.back(), false, g);
    const Row k = load_head(at, a.head_dim, kv.type, a.head_dim);
    double s = std::inner_product(q.begin(), q.end(), k.begin(), 0.0);
    if (a.score_cap != 0) s = double{a.score_cap} * std::tanh(s / double{a.score_cap});
    scores.push_back(s + bias_of(a, h, row, key));
  }
  INGOT_CHECK(!scores.empty(), "row ", row, " of ", kv_len, " sees no key");
  if (a.sinks) scores.push_back(a.sinks.row<float>(0)[h]);  // the weight of no value
  const Row p = reference::softmax(scores);
  Row out(to_size(a.v_dim()), 0.0);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::byte* at = page_head(a, kv, slots[i], true, g);
    const Row v = load_head(at, a.values_in_keys ? a.head_dim : a.v_dim(), kv.type, a.v_dim());
    for (std::size_t d = 0; d < out.size(); ++d) out[d] += p[i] * v[d];
  }
  return out;
}

}  // namespace

std::int64_t ReferenceBackend::kv_block_bytes(const Attention& a, KvType type) const {
  return KvRows(a, type).block_bytes;
}

void ReferenceBackend::kv_copy(std::span<const KvLayer> layers, std::int32_t from,
                               std::int32_t to) {
  for (const KvLayer& kv : layers) {
    std::copy_n(kv.pages + from * kv.block_bytes, kv.block_bytes, kv.pages + to * kv.block_bytes);
  }
}

void ReferenceBackend::kv_read(const Attention&, std::span<const KvLayer> layers,
                               std::int32_t block, std::span<std::byte> out) const {
  std::byte* to = out.data();
  for (const KvLayer& kv : layers) {
    to = std::copy_n(kv.pages + block * kv.block_bytes, kv.block_bytes, to);
  }
}

void ReferenceBackend::kv_load(const Attention&, std::span<const KvLayer> layers,
                               std::int32_t block, std::span<const std::byte> in) {
  const std::byte* from = in.data();
  for (const KvLayer& kv : layers) {
    std::copy_n(from, kv.block_bytes, kv.pages + block * kv.block_bytes);
    from += kv.block_bytes;
  }
}

namespace {

/// Normalises `count` heads of `dim` elements in place, each head or all together.
void norm_heads(float* x, std::int32_t count, std::int32_t dim, const Norm& n) {
  if (!n) return;
  const bool together = n.weight.cols != dim;
  const std::int64_t width = together ? std::int64_t{count} * dim : dim;
  for (std::int64_t h = 0; h < (together ? 1 : count); ++h) {
    const Row head = read_row(x + h * width, width);
    write_row(reference::normalised(head, n, n.weight.rows == 1 ? 0 : h), x + h * width);
  }
}

void rotate_heads(float* x, std::int32_t count, const Attention& a, std::int32_t position) {
  for (std::int64_t h = 0; a.rope != nullptr && h < count; ++h) {
    Row head = read_row(x + h * a.head_dim, a.head_dim);
    rotate(head, *a.rope, a.rope_first, position);
    write_row(head, x + h * a.head_dim);
  }
}

}  // namespace

void ReferenceBackend::rope(View qkv, const Batch& b, const HeadNorms& n, const Attention& a) {
  for (std::int32_t t = 0; t < b.rows(); ++t) {
    const auto turn = [&](float* x, std::int32_t count, const Norm& norm) {
      if (!n.after_rope) norm_heads(x, count, a.head_dim, norm);
      rotate_heads(x, count, a, at(b.positions, t));
      if (n.after_rope) norm_heads(x, count, a.head_dim, norm);
    };
    float* row = qkv.row<float>(t);
    turn(row, a.heads, n.q);
    if (!a.writes_kv) continue;
    turn(row + a.q_cols(), a.kv_heads, n.k);
    if (!a.values_in_keys) norm_heads(row + a.q_cols() + a.k_cols(), a.kv_heads, a.v_dim(), n.v);
  }
}

void ReferenceBackend::kv_write(View qkv, const Batch& b, const Attention& a, KvLayer kv) {
  const KvBlocks& blocks = at(b.groups, kv.group);
  for (std::int32_t t = 0; t < b.rows(); ++t) {
    const std::int32_t slot = at(blocks.slots, t);
    if (slot == -1) continue;
    const float* k = qkv.row<float>(t) + a.q_cols();
    const float* v = k + a.k_cols();
    for (std::int64_t g = 0; g < a.kv_heads; ++g) {
      const auto head = static_cast<std::int32_t>(g);
      store_head(k + g * a.head_dim, a.head_dim, kv.type, page_head(a, kv, slot, false, head));
      if (a.values_in_keys) continue;
      store_head(v + g * a.v_dim(), a.v_dim(), kv.type, page_head(a, kv, slot, true, head));
    }
  }
}

void ReferenceBackend::attention(View qkv, const Batch& b, const Attention& a, KvLayer kv, View out,
                                 Next) {
  const KvBlocks& blocks = at(b.groups, kv.group);
  for (std::int32_t s = 0; s < b.sequences(); ++s) {
    const auto seq = to_size(s);
    const std::int32_t* table = blocks.tables.data() + std::int64_t{s} * blocks.blocks_max;
    for (std::int32_t t = b.q_start[seq]; t < b.q_start[seq + 1]; ++t) {
      const std::int32_t row = b.kv_len[seq] - b.q_start[seq + 1] + t;
      for (std::int32_t h = 0; h < a.heads; ++h) {
        const float* query = qkv.row<float>(t) + std::int64_t{h} * a.head_dim;
        write_row(attend(a, kv, table, row, b.kv_len[seq], h, read_row(query, a.head_dim)),
                  out.row<float>(t) + std::int64_t{h} * a.v_dim());
      }
    }
  }
}

}  // namespace ingot
