// PageLayout: offsets of one layer's keys and values in a block of the CPU backend.
#pragma once

#include <cstdint>

#include "backend/batch.h"
#include "backend/cpu/kernel_table.h"
#include "backend/ops.h"

namespace ingot {

/// Per kv head keys [D][16 tokens], so that scores have a key a lane, then per kv head values [16
/// tokens][D rounded up to 16], so that outputs have an element a lane; of 8-bit integers see
/// Int8Page.
struct PageLayout {
  std::int64_t element = 0;    ///< bytes
  std::int64_t value_row = 0;  ///< elements
  std::int64_t k_head = 0;     ///< bytes of a kv head's keys
  std::int64_t v_head = 0;
  std::int64_t v_start = 0;
  std::int64_t block = 0;

  PageLayout(const Attention& a, KvType type) {
    if (type == KvType::kInt8) {
      k_head = v_head = Int8Page(a.head_dim).bytes();
    } else {
      element = type == KvType::kF32 ? 4 : 2;
      value_row = (a.head_dim + 15) / 16 * 16;
      k_head = a.head_dim * kBlockTokens * element;
      v_head = value_row * kBlockTokens * element;
    }
    v_start = k_head * a.kv_heads;
    block = v_start + v_head * a.kv_heads;
  }
};

}  // namespace ingot
