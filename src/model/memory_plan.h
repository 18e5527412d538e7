// The memory plan: what a model will need, computed from headers before anything is allocated.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backend/backend.h"
#include "kv/kv_cache.h"
#include "model/bind.h"
#include "model/model.h"

namespace ingot {

/// The most tokens of a KV pool: slots are numbered in 32 bits.
inline constexpr std::int64_t kPoolTokensMax = (std::int64_t{1} << 31) - kBlockTokens;

/// What is going to be run.
struct PlanRequest {
  ModelOptions options;
  KvType kv_type = KvType::kF16;
  std::int64_t context = 0;  ///< tokens a sequence may have; 0 = as many as the model was made for
  std::int32_t sequences = 1;        ///< at once, each of `context` tokens
  std::int32_t rows = 1;             ///< of the largest step
  std::int32_t out_rows = 1;         ///< of them with output
  std::int64_t output_bytes = 0;     ///< that the caller holds for inputs and results
  std::int64_t table_bytes = 0;      ///< and for each block of the context, in all block tables
  std::int64_t available_bytes = 0;  ///< what may be used in all
};

/// Bytes by purpose, and what fits.
struct MemoryPlan {
  std::int64_t weights_bytes = 0;
  std::int64_t kv_bytes_per_token = 0;  ///< all layers, outside any window
  std::int64_t kv_bytes = 0;            ///< of all sequences
  std::int64_t scratch_bytes = 0;       ///< activations, rotary and block tables, results
  std::int64_t rounding_bytes = 0;  ///< while loading rounds a weight (a pack cache may spare that)
  std::int64_t available_bytes = 0;
  KvType kv_type = KvType::kF16;
  std::int64_t context = 0;    ///< planned for
  std::int32_t sequences = 1;  ///< planned for
  /// The most tokens that there is memory for in one sequence; at most the larger of `context` and
  /// the model's own.
  std::int64_t max_context = 0;
  std::int64_t max_sequences = 0;  ///< of `context` tokens at once
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

/// A KV pool's blocks per group for `sequences` sequences of `context` tokens.
std::vector<std::int32_t> kv_blocks(std::span<const KvGroup> groups, std::int64_t context,
                                    std::int32_t sequences, std::int32_t rows);

}  // namespace ingot
