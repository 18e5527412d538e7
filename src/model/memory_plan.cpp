// Plans a model's memory from file headers: weights, keys and values, activations, tables.
#include "model/memory_plan.h"

#include <algorithm>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "model/forward.h"
#include "model/weight_list.h"

namespace ingot {

namespace {

/// 2^60 bytes: more than any machine has, and small enough that sums of a plan do not overflow.
constexpr std::int64_t kBytesMax = std::int64_t{1} << 60;

/// a * b, limited to kBytesMax: a user's context and sequences could make it overflow.
std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kBytesMax : std::min(product, kBytesMax);
}

constexpr std::int64_t kPoolBlocksMax = kPoolTokensMax / kBlockTokens;

/// Host bytes of the largest matrix while it is loaded into a device's own memory: its packed rows,
/// and at most `rounding_bytes` of rounded rows.
std::int64_t staging_bytes(const BoundModel& bound, const Backend& backend,
                           const ModelOptions& options) {
  std::int64_t most = 0;
  for (const BoundWeight* w : all_weights(bound, options)) {
    most =
        std::max(most, backend.prepared_bytes(held_views(*w, options), false, use_of(bound, *w)));
  }
  return most + rounding_bytes(bound, options);
}

/// Plans memory as a function of the context and the number of sequences.
class Planner {
 public:
  Planner(const BoundModel& bound, const Backend& backend, const PlanRequest& request)
      : spec_(bound.spec),
        request_(request),
        groups_(kv_groups(backend, planned_kv_uses(bound, request.options), request.kv_type)),
        steps_(backend.steps_ahead()) {
    base_.kv_type = request.kv_type;
    for (const KvGroup& g : groups_) base_.kv_bytes_per_token += g.bytes_per_block() / kBlockTokens;
    base_.host.available_bytes = request.available_bytes;
    StepLimits limits = step_limits(spec_, request.rows, request.out_rows);
    limits.adapters = request.adapters;
    const ModelOptions& options = request.options;
    std::int64_t results = request.result_bytes;
    if (!backend.host_memory()) {
      base_.device_name = backend.name();
      base_.device.available_bytes =
          std::max<std::int64_t>(0, request.device_bytes - kDeviceReserveBytes);
      base_.device.scratch_bytes = request.logits_rows * spec_.vocab * kFloatBytes;
      results += request.out_rows * spec_.hidden * kFloatBytes;  // the host's copy of hidden states
    }
    base_.host.loading_bytes = base_.device_name.empty() ? rounding_bytes(bound, options)
                                                         : staging_bytes(bound, backend, options);
    base_.host.scratch_bytes = request.output_bytes + steps_ * results;
    base_.op_memory().weights_bytes = weight_bytes(bound, backend, options);
    base_.op_memory().adapter_bytes = request.adapter_bytes;
    base_.op_memory().scratch_bytes += scratch_bytes(spec_, limits) + backend.scratch_bytes(limits);
  }

  /// The plan without the largest sizes.
  MemoryPlan plan(std::int64_t context, std::int64_t sequences) const {
    MemoryPlan plan = base_;
    plan.context = context;
    plan.sequences = static_cast<std::int32_t>(sequences);
    plan.op_memory().kv_bytes = times(kv_bytes(context), sequences);
    for (const RopeSpec& rope : spec_.ropes) {
      plan.op_memory().scratch_bytes += rope_table_bytes(rope, context);
    }
    const std::int64_t blocks = (context + kBlockTokens - 1) / kBlockTokens;
    plan.host.scratch_bytes += steps_ * blocks * request_.table_bytes;
    plan.fits = plan.host.fits() && plan.device.fits() && sequences <= addressable(context);
    return plan;
  }
  /// The most sequences whose slots fit into 32 bits.
  std::int64_t addressable(std::int64_t context) const {
    std::int64_t sequences = kPoolBlocksMax;
    for (const KvGroup& g : groups_) {
      const std::int64_t each = std::max<std::int64_t>(1, g.blocks_for(context, request_.rows));
      sequences = std::min(sequences, kPoolBlocksMax / each);
    }
    return sequences;
  }

 private:
  static constexpr std::int64_t kFloatBytes = sizeof(float);

  /// Bytes of the keys and values of one sequence.
  std::int64_t kv_bytes(std::int64_t context) const {
    std::int64_t bytes = 0;
    for (const KvGroup& g : groups_) {
      bytes = std::min(bytes + times(g.blocks_for(context, request_.rows), g.bytes_per_block()),
                       kBytesMax);
    }
    return bytes;
  }

  const Spec& spec_;
  const PlanRequest& request_;
  std::vector<KvGroup> groups_;
  std::int64_t steps_;  ///< number of steps whose results and block tables exist at once
  MemoryPlan base_;     ///< everything that depends on neither context nor sequences
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

/// The bytes of a ledger by purpose.
std::string purposes(const MemoryPlan& plan, const Ledger& ledger) {
  const bool on_device = !plan.device_name.empty();
  std::string text = ledger.weights_bytes > 0 ? cat("weights ", ledger.weights_bytes, ", ") : "";
  if (ledger.adapter_bytes > 0) text += cat("adapters ", ledger.adapter_bytes, ", ");
  if (ledger.loading_bytes > ledger.kv_bytes + ledger.scratch_bytes) {
    return cat(text, "a matrix while it is ", on_device ? "packed " : "rounded ",
               ledger.loading_bytes);
  }
  if (ledger.kv_bytes > 0) {
    text += cat("kv cache ", ledger.kv_bytes, " for ", plan.context, " tokens, ");
  }
  return cat(text, "scratch ", ledger.scratch_bytes);
}

/// Advice to the user if the plan does not fit because `full` is full.
std::string way_out(const MemoryPlan& plan, const Ledger& full) {
  if (plan.max_context == 0) {
    return cat("free memory", &full == &plan.host ? ", raise `memory_limit`" : "", " or ",
               std::max(full.weights_bytes, full.loading_bytes) > full.scratch_bytes
                   ? "use a smaller quantisation"
                   : "take fewer rows and sequences at once");
  }
  if (plan.sequences > 1) {
    return plan.max_sequences > 0
               ? cat(plan.max_sequences, " of the ", plan.sequences, " sequences fit at once")
               : cat("one sequence of ", plan.max_context, " tokens fits");
  }
  return cat("`context` ", plan.max_context, " fits",
             full.kv_bytes == 0 || plan.kv_type == KvType::kInt8 ? ""
             : plan.kv_type == KvType::kF32 ? ", `kv_type` f16 halves the kv cache"
                                            : ", `kv_type` int8 nearly halves the kv cache");
}

}  // namespace

MemoryPlan plan_memory(const BoundModel& bound, const Backend& backend,
                       const PlanRequest& request) {
  const Planner planner(bound, backend, request);
  const std::int64_t context = request.context == 0 ? bound.spec.context : request.context;
  MemoryPlan plan = planner.plan(context, request.sequences);
  plan.max_context = largest(std::max(bound.spec.context, context),
                             [&](std::int64_t n) { return planner.plan(n, 1).fits; });
  plan.max_sequences = largest(planner.addressable(context),
                               [&](std::int64_t n) { return planner.plan(context, n).fits; });
  return plan;
}

void require_fit(const MemoryPlan& plan, const std::string& file) {
  if (plan.fits) return;
  const std::string name = printable(file, 4096);
  const bool device_full = !plan.device.fits();
  const Ledger& full = device_full ? plan.device : plan.host;
  if (full.fits()) {
    throw Error(ErrorCode::kDoesNotFit,
                cat(name, ": ", plan.sequences, " sequences of ", plan.context,
                    " tokens have more than the ", kPoolTokensMax, " that a kv cache can number; ",
                    way_out(plan, full)));
  }
  throw Error(ErrorCode::kDoesNotFit,
              cat(name, ": ", device_full ? cat("device ", plan.device_name, ": ") : "", "needs ",
                  full.total_bytes(), " bytes (", purposes(plan, full), "), ", full.available_bytes,
                  " are available; ", way_out(plan, full)));
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
