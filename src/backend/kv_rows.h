// KvRows: the layout of keys and values outside a backend, for example in session files.
#pragma once

#include <cstdint>

#include "backend/batch.h"
#include "backend/ops.h"

namespace ingot {

/// Sizes in one layer's layout: [token][key, value][kv head][element], little-endian. A head has D
/// elements of the KV type. With kInt8, a head begins with a float scale for each 32 elements.
struct KvRows {
  std::int64_t scale_bytes = 0;    ///< bytes of the scales before a head's elements; 0: no scales
  std::int64_t element_bytes = 0;  ///< bytes of one element
  std::int64_t head_bytes = 0;
  std::int64_t token_bytes = 0;
  std::int64_t block_bytes = 0;  ///< bytes of all tokens in a block

  KvRows(std::int64_t kv_heads, std::int64_t head_dim, KvType type)
      : scale_bytes(type == KvType::kInt8 ? (head_dim + 31) / 32 * 4 : 0),
        element_bytes(type == KvType::kF32 ? 4 : (type == KvType::kInt8 ? 1 : 2)),
        head_bytes(scale_bytes + head_dim * element_bytes),
        token_bytes(2 * kv_heads * head_bytes),
        block_bytes(kBlockTokens * token_bytes) {}
  KvRows(const Attention& a, KvType type) : KvRows(a.kv_heads, a.head_dim, type) {}
};

}  // namespace ingot
