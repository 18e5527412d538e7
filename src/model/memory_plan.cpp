// Plans a model's memory from file headers: weights, keys and values, activations, tables.
#include "model/memory_plan.h"

#include <algorithm>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "model/forward.h"

namespace ingot {

namespace {

/// The attention parameters of the layers to load, without rotary tables: these are made later.
std::vector<Attention> planned_attention(const Spec& spec, const ModelOptions& options) {
  std::vector<Attention> all;
  const std::int64_t last = options.last_layer < 0 ? spec.layers : options.last_layer;
  for (std::int64_t i = options.first_layer; i < last; ++i) {
    all.push_back({.heads = spec.heads,
                   .kv_heads = spec.kv_heads,
                   .head_dim = spec.head_dim,
                   .window = at(spec.window, i)});
  }
  return all;
}

/// 2^60 bytes: more than any machine has, and small enough that sums of a plan do not overflow.
constexpr std::int64_t kBytesMax = std::int64_t{1} << 60;

/// a * b, limited to kBytesMax: a user's context and sequences could make it overflow.
std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kBytesMax : std::min(product, kBytesMax);
}

constexpr std::int64_t kPoolBlocksMax = kPoolTokensMax / kBlockTokens;

/// Bytes of keys, values and tables as functions of the context.
struct ContextCost {
  std::vector<KvGroup> groups;
  const Spec& spec;
  std::int32_t rows;
  std::int64_t table_bytes;

  std::int64_t kv(std::int64_t context) const {
    std::int64_t bytes = 0;
    for (const KvGroup& g : groups) {
      bytes = std::min(bytes + times(g.blocks_for(context, rows), g.bytes_per_block()), kBytesMax);
    }
    return bytes;
  }
  std::int64_t tables(std::int64_t context) const {
    std::int64_t bytes = (context + kBlockTokens - 1) / kBlockTokens * table_bytes;
    for (const RopeSpec& rope : spec.ropes) bytes += rope_table_bytes(rope, context);
    return bytes;
  }
  /// The most sequences whose slots fit into 32 bits.
  std::int64_t addressable(std::int64_t context) const {
    std::int64_t sequences = kPoolBlocksMax;
    for (const KvGroup& g : groups) {
      const std::int64_t each = std::max<std::int64_t>(1, g.blocks_for(context, rows));
      sequences = std::min(sequences, kPoolBlocksMax / each);
    }
    return sequences;
  }
};

/// The largest n in [0, high] for which `fits` holds, by bisection.
template <class Fits>
std::int64_t largest(std::int64_t high, Fits fits) {
  std::int64_t low = 0;
  while (low < high) {
    const std::int64_t middle = low + (high - low + 1) / 2;
    if (fits(middle)) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

/// Advice to the user if the plan does not fit.
std::string way_out(const MemoryPlan& plan) {
  if (plan.max_context == 0) {
    return cat("free memory, raise `memory_limit` or ",
               plan.weights_bytes > plan.scratch_bytes ? "use a smaller quantisation"
                                                       : "take fewer rows and sequences at once");
  }
  if (plan.sequences > 1) {
    return plan.max_sequences > 0
               ? cat(plan.max_sequences, " of the ", plan.sequences, " sequences fit at once")
               : cat("one sequence of ", plan.max_context, " tokens fits");
  }
  return cat("`context` ", plan.max_context, " fits",
             plan.kv_type == KvType::kF32    ? ", `kv_type` f16 halves the kv cache"
             : plan.kv_type == KvType::kInt8 ? ""
                                             : ", `kv_type` int8 nearly halves the kv cache");
}

}  // namespace

MemoryPlan plan_memory(const BoundModel& bound, const Backend& backend,
                       const PlanRequest& request) {
  const Spec& spec = bound.spec;
  const auto attention = planned_attention(spec, request.options);
  const ContextCost cost{kv_groups(backend, attention, request.kv_type), spec, request.rows,
                         request.table_bytes};
  const StepLimits limits = step_limits(spec, request.rows, request.out_rows);

  MemoryPlan plan;
  plan.available_bytes = request.available_bytes;
  plan.kv_type = request.kv_type;
  plan.context = request.context == 0 ? spec.context : request.context;
  plan.sequences = request.sequences;
  plan.weights_bytes = weight_bytes(bound, backend, request.options);
  plan.rounding_bytes = rounding_bytes(bound, request.options);
  for (const KvGroup& g : cost.groups)
    plan.kv_bytes_per_token += g.bytes_per_block() / kBlockTokens;
  plan.kv_bytes = times(cost.kv(plan.context), request.sequences);
  const std::int64_t activations =
      scratch_bytes(spec, limits) + backend.scratch_bytes(limits) + request.output_bytes;
  plan.scratch_bytes = activations + cost.tables(plan.context);

  std::int64_t left = plan.available_bytes - plan.weights_bytes - activations;
  if (plan.available_bytes - plan.weights_bytes < plan.rounding_bytes) left = -1;
  plan.max_context = largest(std::max(spec.context, plan.context), [&](std::int64_t n) {
    return cost.kv(n) + cost.tables(n) <= left && cost.addressable(n) > 0;
  });
  const std::int64_t each = std::max<std::int64_t>(1, cost.kv(plan.context));
  const std::int64_t addressable = cost.addressable(plan.context);
  plan.max_sequences =
      std::clamp<std::int64_t>((left - cost.tables(plan.context)) / each, 0, addressable);
  plan.fits = plan.total_bytes() <= plan.available_bytes && plan.sequences <= addressable;
  return plan;
}

void require_fit(const MemoryPlan& plan, const std::string& file) {
  if (plan.fits) return;
  const std::string name = printable(file, 4096);
  if (plan.total_bytes() <= plan.available_bytes) {
    throw Error(ErrorCode::kDoesNotFit,
                cat(name, ": ", plan.sequences, " sequences of ", plan.context,
                    " tokens have more than the ", kPoolTokensMax, " that a kv cache can number; ",
                    way_out(plan)));
  }
  const std::string beside = plan.rounding_bytes > plan.kv_bytes + plan.scratch_bytes
                                 ? cat(", a matrix while it is rounded ", plan.rounding_bytes)
                                 : cat(", kv cache ", plan.kv_bytes, " for ", plan.context,
                                       " tokens, scratch ", plan.scratch_bytes);
  throw Error(ErrorCode::kDoesNotFit,
              cat(name, ": needs ", plan.total_bytes(), " bytes (weights ", plan.weights_bytes,
                  beside, "), ", plan.available_bytes, " are available; ", way_out(plan)));
}

std::vector<std::int32_t> kv_blocks(std::span<const KvGroup> groups, std::int64_t context,
                                    std::int32_t sequences, std::int32_t rows) {
  std::vector<std::int32_t> blocks;
  for (const KvGroup& g : groups) {
    const std::int64_t count = g.blocks_for(context, rows) * sequences;
    INGOT_CHECK(count <= kPoolBlocksMax, count, " blocks in a pool of at most ", kPoolBlocksMax);
    blocks.push_back(static_cast<std::int32_t>(count));
  }
  return blocks;
}

}  // namespace ingot
