// MemoryPlan: the memory that a model needs, computed from file headers without allocating.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backend/backend.h"
#include "kv/kv_cache.h"
#include "model/bind.h"
#include "model/model.h"

namespace ingot {

/// Limit on a pool's size in tokens: slots are signed 32-bit numbers, and a pool has whole blocks.
inline constexpr std::int64_t kPoolTokensMax = (std::int64_t{1} << 31) - kBlockTokens;

/// The model options and the sizes for which to plan memory.
struct PlanRequest {
  ModelOptions options;
  KvType kv_type = KvType::kF16;
  std::int64_t context = 0;          ///< most tokens of a sequence; 0: the model's trained context
  std::int32_t sequences = 1;        ///< number of sequences of `context` tokens that run at once
  std::int32_t rows = 1;             ///< number of rows of the largest step
  std::int32_t out_rows = 1;         ///< number of output rows of the largest step
  std::int64_t output_bytes = 0;     ///< bytes that the caller needs for inputs and results
  std::int64_t table_bytes = 0;      ///< bytes of the caller's block tables per 16 context tokens
  std::int64_t available_bytes = 0;  ///< limit on all planned memory, in bytes
};

/// Planned bytes by purpose, and the largest sizes that fit.
struct MemoryPlan {
  std::int64_t weights_bytes = 0;
  std::int64_t kv_bytes_per_token = 0;  ///< bytes in all layers together; ignores windows
  std::int64_t kv_bytes = 0;            ///< bytes of the keys and values of all sequences
  std::int64_t scratch_bytes = 0;       ///< bytes of activations, rotary and block tables, results
  std::int64_t rounding_bytes = 0;      ///< bytes needed only while loading, to round a matrix
  std::int64_t available_bytes = 0;
  KvType kv_type = KvType::kF16;
  std::int64_t context = 0;    ///< planned number of tokens of a sequence
  std::int32_t sequences = 1;  ///< number of sequences of `context` tokens in the plan
  /// Tokens of the longest sequence that fits alone; at most max(`context`, the model's context).
  std::int64_t max_context = 0;
  std::int64_t max_sequences = 0;  ///< number of sequences of `context` tokens that would fit
  bool fits = false;

  std::int64_t total_bytes() const {
    return weights_bytes + std::max(kv_bytes + scratch_bytes, rounding_bytes);
  }
};

/// Plans memory for a request; allocates nothing.
MemoryPlan plan_memory(const BoundModel& bound, const Backend& backend, const PlanRequest& request);

/// Throws Error{kDoesNotFit} if the plan does not fit. The message gives the planned
/// numbers, and the options that would make the plan fit.
void require_fit(const MemoryPlan& plan, const std::string& file);

/// Counts the blocks that each KV group needs. A sequence has `context` tokens, a step `rows` rows.
std::vector<std::int32_t> kv_blocks(std::span<const KvGroup> groups, std::int64_t context,
                                    std::int32_t sequences, std::int32_t rows);

}  // namespace ingot
