// MemoryPlan: the memory that a model needs, computed from headers before anything is allocated.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backend/backend.h"
#include "kv/kv_cache.h"
#include "model/bind.h"
#include "model/model.h"

namespace ingot {

/// The most tokens of a pool, because slots have 32 bits.
inline constexpr std::int64_t kPoolTokensMax = (std::int64_t{1} << 31) - kBlockTokens;

/// The options and sizes to plan for.
struct PlanRequest {
  ModelOptions options;
  KvType kv_type = KvType::kF16;
  std::int64_t context = 0;          ///< tokens of a sequence; 0: the model's own context
  std::int32_t sequences = 1;        ///< sequences of `context` tokens at once
  std::int32_t rows = 1;             ///< rows of the largest step
  std::int32_t out_rows = 1;         ///< output rows of the largest step
  std::int64_t output_bytes = 0;     ///< the caller's memory for inputs and results
  std::int64_t table_bytes = 0;      ///< the caller's block tables, for each block of the context
  std::int64_t available_bytes = 0;  ///< memory that may be used in all
};

/// Bytes by purpose, and what fits.
struct MemoryPlan {
  std::int64_t weights_bytes = 0;
  std::int64_t kv_bytes_per_token = 0;  ///< in all layers, as without windows
  std::int64_t kv_bytes = 0;            ///< for all sequences
  std::int64_t scratch_bytes = 0;       ///< activations, rotary and block tables, results
  std::int64_t rounding_bytes = 0;      ///< while a weight is rounded; a pack cache may save it
  std::int64_t available_bytes = 0;
  KvType kv_type = KvType::kF16;
  std::int64_t context = 0;    ///< planned tokens of a sequence
  std::int32_t sequences = 1;  ///< planned sequences
  /// The most tokens of one sequence that fit; at most the larger of `context` and the model's own.
  std::int64_t max_context = 0;
  std::int64_t max_sequences = 0;  ///< the most sequences of `context` tokens that fit
  bool fits = false;

  std::int64_t total_bytes() const {
    return weights_bytes + std::max(kv_bytes + scratch_bytes, rounding_bytes);
  }
};

/// Plans memory for a request; allocates nothing.
MemoryPlan plan_memory(const BoundModel& bound, const Backend& backend, const PlanRequest& request);

/// Throws Error{kDoesNotFit} with the numbers and the options that would help, unless the plan
/// fits.
void require_fit(const MemoryPlan& plan, const std::string& file);

/// The blocks of each KV group's pool for `sequences` sequences of `context` tokens.
std::vector<std::int32_t> kv_blocks(std::span<const KvGroup> groups, std::int64_t context,
                                    std::int32_t sequences, std::int32_t rows);

}  // namespace ingot
