// MemoryPlan: the memory that a model needs, computed from file headers without allocating.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

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
  std::int32_t logits_rows = 0;      ///< number of rows of logits of the largest step
  std::int64_t result_bytes = 0;     ///< bytes of a step's results in host memory, with logits
  std::int64_t table_bytes = 0;      ///< bytes of a step's block tables per 16 context tokens
  bool adapters = false;             ///< whether rows may have adapters
  std::int64_t adapter_bytes = 0;    ///< bytes of the adapters to load, now or later
  std::int64_t output_bytes = 0;     ///< other bytes that the caller needs for inputs and results
  std::int64_t available_bytes = 0;  ///< limit on planned host memory, in bytes
  std::int64_t device_bytes = 0;     ///< Backend::free_memory; unused with Backend::host_memory
};

/// Bytes of a device's free memory that no plan uses: 512 MiB for the driver, code and captured
/// graphs, whose sizes are unknown before they exist. If it is too small, a start that fits on
/// paper runs out of memory.
inline constexpr std::int64_t kDeviceReserveBytes = std::int64_t{512} << 20;

/// The planned bytes of one memory by purpose, and its limit.
struct Ledger {
  std::int64_t weights_bytes = 0;
  std::int64_t adapter_bytes = 0;  ///< bytes of adapters, also for later loads
  std::int64_t kv_bytes = 0;       ///< bytes of the keys and values of all sequences
  std::int64_t scratch_bytes = 0;  ///< bytes of activations, rotary and block tables, results
  std::int64_t loading_bytes = 0;  ///< bytes needed only while loading, for the largest matrix
  std::int64_t available_bytes = 0;

  std::int64_t total_bytes() const {
    return weights_bytes + adapter_bytes + std::max(kv_bytes + scratch_bytes, loading_bytes);
  }
  std::int64_t unused_bytes() const { return available_bytes - total_bytes(); }
  bool fits() const { return unused_bytes() >= 0; }
};

/// The planned bytes, and the largest sizes that fit.
struct MemoryPlan {
  Ledger host;              ///< host memory; without device memory, everything
  Ledger device;            ///< the device's own memory; empty if there is none
  std::string device_name;  ///< name of the device with own memory; empty if there is none
  std::int64_t kv_bytes_per_token = 0;  ///< bytes in all layers together; ignores windows
  KvType kv_type = KvType::kF16;
  std::int64_t context = 0;    ///< planned number of tokens of a sequence
  std::int32_t sequences = 1;  ///< number of sequences of `context` tokens in the plan
  /// Tokens of the longest sequence that fits alone; at most max(`context`, the model's context).
  std::int64_t max_context = 0;
  std::int64_t max_sequences = 0;  ///< number of sequences of `context` tokens that would fit
  bool fits = false;

  /// Returns the ledger of the memory that ops use, which holds weights, keys and values.
  const Ledger& op_memory() const { return device_name.empty() ? host : device; }
  Ledger& op_memory() { return device_name.empty() ? host : device; }
};

/// Plans memory for a request; allocates nothing.
MemoryPlan plan_memory(const BoundModel& bound, const Backend& backend, const PlanRequest& request);

/// Throws Error{kDoesNotFit} if the plan does not fit. The message names the memory that is full,
/// its planned numbers, and the options that would make the plan fit.
void require_fit(const MemoryPlan& plan, const std::string& file);

/// Counts the blocks that each KV group needs. A sequence has `context` tokens, a step `rows` rows.
std::vector<std::int32_t> kv_blocks(std::span<const KvGroup> groups, std::int64_t context,
                                    std::int32_t sequences, std::int32_t rows);

}  // namespace ingot
