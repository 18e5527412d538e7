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
/// values are stored again.
///
/// KvType::kBF16 has pairs: keys [D rounded up to 32, / 2][16 tokens][2 dims], values [8 pairs of
/// tokens][Dv rounded up to 16][2 tokens]. Fma over lanes, matrix tiles and a single row read these
/// pages alike. `kv_write` and `kv_load` write a token's own bytes, and +0 to its padding, so a
/// written token has no NaN beyond its head. Int8Page describes the pages of KvType::kInt8.
struct PageLayout {
  std::int64_t element = 0;    ///< bytes of an element; 0 for KvType::kInt8
  std::int64_t key_rows = 0;   ///< dims of a key, with padding; 0 for kInt8
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
      key_rows = type == KvType::kBF16 ? (a.head_dim + 31) / 32 * 32 : a.head_dim;
      k_head = key_rows * kBlockTokens * element;
      v_head = value_row * kBlockTokens * element;
    }
    v_start = k_head * a.kv_heads;
    block = v_start + v_head * a.kv_heads;
  }

  /// Returns the offset in bytes of dim `d` of token `t` in a head's keys of KvType::kBF16.
  static std::int64_t bf16_key_at(std::int64_t t, std::int64_t d) {
    return d / 2 * 4 * kBlockTokens + 4 * t + d % 2 * 2;
  }
  /// Returns the offset in bytes of element `d` of token `t` in a head's values of KvType::kBF16.
  std::int64_t bf16_value_at(std::int64_t t, std::int64_t d) const {
    return t / 2 * 4 * value_row + 4 * d + t % 2 * 2;
  }
};

}  // namespace ingot
