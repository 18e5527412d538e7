// KvRows: the layout of keys and values outside a backend, for example in session files.
#pragma once

#include <cstdint>

#include "backend/batch.h"
#include "backend/ops.h"

namespace ingot {

/// Sizes in one layer's layout: [token][key, value][kv head][element], little-endian. A key has D
/// elements of the KV type, a value Dv. With kInt8, a head begins with a float scale for each 32
/// elements. With Attention::values_in_keys, there are no values.
struct KvRows {
  /// Sizes of one key or one value of a kv head.
  struct Head {
    std::int64_t scale_bytes = 0;  ///< bytes of the scales before the elements; 0: no scales
    std::int64_t bytes = 0;        ///< bytes of scales and elements
  };

  std::int64_t element_bytes = 0;  ///< bytes of one element
  Head key;
  Head value;  ///< 0 bytes if values are in keys
  std::int64_t token_bytes = 0;
  std::int64_t block_bytes = 0;  ///< bytes of all tokens in a block
  std::int64_t kv_heads = 0;

  KvRows(const Attention& a, KvType type)
      : element_bytes(type == KvType::kF32 ? 4 : (type == KvType::kInt8 ? 1 : 2)),
        key(head_of(a.head_dim, type)),
        value(a.values_in_keys ? Head{} : head_of(a.v_dim(), type)),
        token_bytes(a.kv_heads * (key.bytes + value.bytes)),
        block_bytes(kBlockTokens * token_bytes),
        kv_heads(a.kv_heads) {}
  /// The rows of an attention whose values are as wide as its keys.
  KvRows(std::int32_t heads, std::int32_t head_dim, KvType type)
      : KvRows(Attention{.kv_heads = heads, .head_dim = head_dim}, type) {}

  /// Returns the offset of kv head `g` in a token's bytes.
  std::int64_t key_at(std::int64_t g) const { return g * key.bytes; }
  std::int64_t value_at(std::int64_t g) const { return kv_heads * key.bytes + g * value.bytes; }

 private:
  Head head_of(std::int64_t elements, KvType type) const {
    const std::int64_t scales = type == KvType::kInt8 ? (elements + 31) / 32 * 4 : 0;
    return {.scale_bytes = scales, .bytes = scales + elements * element_bytes};
  }
};

}  // namespace ingot
