// PageLayout: where keys and values lie in a KV block of the CPU backend.
#pragma once

#include <cstdint>

#include "backend/batch.h"
#include "backend/cpu/kernel_table.h"
#include "backend/ops.h"

namespace ingot {

/// Sizes and offsets in a page. The keys of each kv head come first, as [D][16 tokens]: one lane
/// computes one key's score. The values of each kv head follow, as [16 tokens][Dv rounded up to
/// 16]: one lane computes one output element. Attention::values_in_keys does not change the layout:
/// values are stored again. Int8Page describes the pages of KvType::kInt8.
struct PageLayout {
  std::int64_t element = 0;    ///< bytes of an element; 0 for KvType::kInt8
  std::int64_t value_row = 0;  ///< elements of a token's values, a multiple of 16; 0 for kInt8
  std::int64_t k_head = 0;     ///< bytes of a kv head's keys
  std::int64_t v_head = 0;     ///< bytes of a kv head's values
  std::int64_t v_start = 0;    ///< offset of the first head's values, in bytes
  std::int64_t block = 0;      ///< bytes of a page

  PageLayout(const Attention& a, KvType type) {
    if (type == KvType::kInt8) {
      k_head = Int8Page(a.head_dim).bytes();
      v_head = Int8Page(a.v_dim()).bytes();
    } else {
      element = type == KvType::kF32 ? 4 : 2;
      value_row = (a.v_dim() + 15) / 16 * 16;
      k_head = a.head_dim * kBlockTokens * element;
      v_head = value_row * kBlockTokens * element;
    }
    v_start = k_head * a.kv_heads;
    block = v_start + v_head * a.kv_heads;
  }
};

}  // namespace ingot
