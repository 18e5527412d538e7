// CpuBackend: the ops on ordinary processors, exact whatever the thread count and instruction set.
#pragma once

#include "backend/backend.h"
#include "backend/cpu/kernel_table.h"
#include "backend/cpu/panel.h"
#include "backend/observer.h"
#include "base/thread_pool.h"

namespace ingot {

/// Runs the ops of one kernel table on a thread pool that others may share between steps.
///
/// No sum crosses threads: work is cut into panels of outputs, rows, or heads, so results do not
/// depend on who runs what. Scratch memory is planned once; an op beyond the planned limits is a
/// bug.
class CpuBackend final : public Backend {
 public:
  CpuBackend(ThreadPool& pool, const KernelTable& table) : pool_(pool), table_(table) {}

  const char* name() const override { return "cpu"; }
  const KernelTable& table() const { return table_; }
  /// From here on `observer` sees the inputs of linears; null: nobody does.
  void observe(LinearObserver* observer) { observer_ = observer; }

  Buffer allocate(std::int64_t bytes) override { return allocate_host(bytes); }
  Weight prepare(std::span<const View> parts, std::span<const float> bias) override;
  std::uint32_t packed_layout() const override { return kPanelLayout; }
  Weight adopt(std::span<const View> parts, std::span<const float> bias,
               std::span<const std::byte> packed) override;
  std::int64_t prepared_bytes(std::span<const View> parts, bool bias) const override;
  Tensor upload(std::span<const float> values) override;
  std::int64_t kv_block_bytes(const Attention& a, KvType type) const override;
  std::int64_t scratch_bytes(const StepLimits& limits) const override;
  void plan(const StepLimits& limits) override;

  void step(const Batch& batch, FunctionRef<void()> body) override;
  void embed(const Batch& batch, const Weight* table, View x) override;
  void norm(View x, View add, const Norm& n, View out) override;
  void linear(View in, const Weight& w, View out) override;
  void rope(View qkv, const Batch& b, const Norm& q_norm, const Norm& k_norm,
            const Attention& a) override;
  void kv_write(View qkv, const Batch& b, const Attention& a, KvLayer kv) override;
  void attention(View qkv, const Batch& b, const Attention& a, KvLayer kv, View out) override;
  void activate(View in, Act act, bool gated, View out) override;
  void moe(View in, const MoeWeights& w, const Moe& m, View out) override;
  void gather(View x, std::span<const std::int32_t> rows, View out) override;
  void logits(View in, const Weight& head, const LogitsReduce& reduce) override;
  void argmax(View x, std::span<std::int32_t> out) override;

 private:
  /// Scratch as offsets into one buffer, for given limits.
  struct Scratch {
    QuantisedGroup* q = nullptr;           ///< [tiles of rows, K / 32]
    std::int64_t q_rows = 0;               ///< that `q` has room for
    View head_rows;                        ///< [<= kHeadRows, V]
    View router;                           ///< [T, E]
    View routed;                           ///< [T*k, H]: rows by expert, then the experts' results
    View gate_up;                          ///< [T*k, 2F]
    View ffn;                              ///< [T*k, F]
    std::int32_t* slot_expert = nullptr;   ///< [T, k]
    float* slot_weight = nullptr;          ///< [T, k]
    std::int32_t* slot_row = nullptr;      ///< [T, k]: where a slot stands in `routed`
    std::int32_t* expert_start = nullptr;  ///< [E + 1]
    std::int64_t bytes = 0;
  };
  /// Lays scratch out from `base`, which may be null to learn the size.
  static Scratch lay_out(const StepLimits& limits, std::byte* base);

  /// Rows [row, end) and query heads [head, head + heads) of one kv head.
  struct AttentionTile {
    std::int64_t row = 0;
    std::int64_t end = 0;
    std::int64_t kv_head = 0;
    std::int64_t head = 0;
    std::int32_t heads = 0;
  };

  /// A weight of these parts, without panels.
  Weight outline(std::span<const View> parts, std::span<const float> bias);
  void quantise(View in);
  /// Attends the tile's rows up to the end of their sequence; returns the first row that is left.
  std::int64_t attend_rows(View qkv, const Batch& b, const Attention& a, const KvLayer& kv,
                           const AttentionTile& tile, View out);
  void route(View logits, const Moe& m);
  void run_experts(View in, const MoeWeights& w, const Moe& m);
  void reduce_rows(View rows, std::int64_t first, const LogitsReduce& reduce);

  ThreadPool& pool_;
  const KernelTable& table_;
  LinearObserver* observer_ = nullptr;
  StepLimits limits_;
  Buffer scratch_buffer_;
  Scratch scratch_;
};

}  // namespace ingot
