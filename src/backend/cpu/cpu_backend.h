// CpuBackend: the ops on the host's processors, with equal bits for all threads and instruction
// sets.
#pragma once

#include <atomic>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/attention_plan.h"
#include "backend/cpu/expert_plan.h"
#include "backend/cpu/kernel_table.h"
#include "backend/cpu/linear_input.h"
#include "backend/cpu/panel.h"
#include "backend/cpu/panel_work.h"
#include "backend/observer.h"
#include "base/thread_pool.h"

namespace ingot {

/// Runs the ops with one kernel table on a thread pool, which others may use between steps.
///
/// No sum crosses threads: items are panels of outputs, rows, heads, or splits of keys, whose
/// states the last thread joins in order. So results do not depend on which thread runs which item.
/// Scratch memory is planned once; an op beyond the planned limits is a bug.
class CpuBackend final : public Backend {
 public:
  CpuBackend(ThreadPool& pool, const KernelTable& table) : pool_(pool), table_(table) {}

  const char* name() const override { return "cpu"; }
  const KernelTable& table() const { return table_; }
  /// Shows the inputs of linears to `observer` from here on; null: to none.
  void observe(LinearObserver* observer) { observer_ = observer; }

  Buffer allocate(std::int64_t bytes) override { return allocate_host(bytes); }
  Weight prepare(std::span<const View> parts, std::span<const float> bias) override;
  std::uint32_t packed_layout() const override { return kPanelLayout; }
  Weight adopt(std::span<const View> parts, std::span<const float> bias,
               std::span<const std::byte> packed) override;
  std::int64_t prepared_bytes(std::span<const View> parts, bool bias) const override;
  std::int64_t kv_block_bytes(const Attention& a, KvType type) const override;
  void kv_copy(std::span<const KvLayer> layers, std::int32_t from, std::int32_t to) override;
  void kv_read(const Attention& a, std::span<const KvLayer> layers, std::int32_t block,
               std::span<std::byte> out) const override;
  void kv_load(const Attention& a, std::span<const KvLayer> layers, std::int32_t block,
               std::span<const std::byte> in) override;
  std::int64_t scratch_bytes(const StepLimits& limits) const override;
  void plan(const StepLimits& limits) override;

  void step(const Batch& batch, FunctionRef<void()> body) override;
  void embed(const Batch& batch, const Weight* table, View x) override;
  void norm(View x, View add, const Norm& n, View out, Next next) override;
  void linear(View in, const Weight& w, View out) override;
  void rope(View qkv, const Batch& b, const Norm& q_norm, const Norm& k_norm,
            const Attention& a) override;
  void kv_write(View qkv, const Batch& b, const Attention& a, KvLayer kv) override;
  void attention(View qkv, const Batch& b, const Attention& a, KvLayer kv, View out,
                 Next next) override;
  void activate(View in, Act act, bool gated, View out, Next next) override;
  void moe(View in, const MoeWeights& w, const Moe& m, View out) override;
  void gather(View x, std::span<const std::int32_t> rows, View out) override;
  void logits(View in, const Weight& head, const LogitsReduce& reduce) override;

 private:
  /// Rows by routed row; row 0 of `view` is routed row `first`.
  struct WaveRows {
    View view;
    std::int32_t first = 0;
    View of(const ExpertRows& e) const { return view.slice(e.first - first, e.count); }
  };
  /// An expert's part of a loop over the panels of a wave.
  struct ExpertWork {
    std::int64_t first_item = 0;
    PanelWork panels;
    LinearInput rows;
  };
  /// Scratch memory, laid out in one buffer for given limits.
  struct Scratch {
    LinearInput q;                  ///< quantised rows of a step, of any K
    std::int64_t q_rows = 0;        ///< rows that fit in `q`
    std::byte* linear = nullptr;    ///< `linear_bytes` for each thread
    std::int64_t linear_bytes = 0;  ///< the largest LinearKernel::scratch
    float* states = nullptr;        ///< states of attention's shared splits
    std::int64_t states_floats = 0;
    View head_rows;                       ///< [<= kHeadRows, V]
    View router;                          ///< [T, E]
    std::int64_t cached_rows = 0;         ///< routed rows of a wave that the second caches hold
    View routed;                          ///< [T*k, H] routed rows, then the experts' results
    View gate_up;                         ///< [W, 2F], W routed rows of a wave at most
    View ffn;                             ///< [W, F]
    LinearInput wave_q;                   ///< quantised rows of a wave: of `routed`, then of `ffn`
    std::int32_t* pair_expert = nullptr;  ///< [T, k] experts of each row, best first
    float* pair_weight = nullptr;         ///< [T, k]
    ExpertPlanMemory experts;
    std::int64_t bytes = 0;
  };
  /// Lays scratch out from `base` on, which may be null to learn the size.
  Scratch lay_out(const StepLimits& limits, std::byte* base) const;
  /// The keys that each row of a row tile sees, as kernels read them.
  struct TileKeys;

  /// A weight of these parts, without panels.
  Weight outline(std::span<const View> parts, std::span<const float> bias);
  /// Memory for the quantised form of `rows`: scratch_.q, without the layout that no kernel reads.
  LinearInput input_of(View rows) const;
  /// Quantises `rows` into input_of(rows) in pieces, each after make(row, first column, columns)
  /// for its rows. Rows of a tile share lines, so one thread has all of them; where rows are few,
  /// threads take parts of the columns.
  void quantise_rows(View rows, FunctionRef<void(std::int64_t, std::int64_t, std::int64_t)> make);
  /// Whether there are enough rows that each thread gets pieces of whole rows.
  bool has_whole_pieces(std::int64_t rows) const;
  /// Whether the op that writes `out` should quantise its rows, for `quantised` to find.
  bool keeps_quantised(View out, Next next);
  /// Forgets quantised rows that `out` overlaps. Every op that writes float rows calls it, unless
  /// it calls keeps_quantised.
  void overwrites(View out);
  /// The rows of `in` as linears over block formats read them: kept from the op that wrote them, or
  /// quantised now.
  LinearInput quantised(View in);
  /// Scratch of a linear kernel for thread `thread` of the pool.
  std::byte* linear_scratch(int thread) const;
  /// Computes the state of a shared split. The last item of a row and head tile joins all states,
  /// in order, and returns true.
  bool run_split(const AttentionArgs& args, const AttentionItem& item);
  /// Kernel arguments of an item.
  AttentionArgs args_of(View qkv, const Batch& b, const Attention& a, const KvLayer& kv,
                        const AttentionItem& item, View out, TileKeys& keys) const;
  /// Chooses the experts of each row and their weights.
  void route(View logits, const Moe& m);
  /// Routed rows of width `ffn` whose gate, up and activation the threads' second caches hold.
  std::int64_t cached_rows(std::int64_t ffn) const;
  /// Rows whose quantised activations lie together: a tile, or a matrix.
  std::int32_t rows_together() const { return table_.reads_matrix ? kMatrixRows : kTileRows; }
  /// Copies rows of `in`, and of `q` where weights read it, to the experts of the wave.
  void send_rows(View in, const LinearInput& q, const MoeWeights& w, const Moe& m,
                 const ExpertWave& wave);
  void activate_wave(const MoeWeights& w, const Moe& m, const ExpertWave& wave);
  /// out = in W^T for the rows of each expert of the wave: one loop over the panels of all experts.
  void expert_linears(const ExpertWave& wave, WaveRows in, std::span<const Weight> w, WaveRows out);
  void reduce_rows(View rows, std::int64_t first, const LogitsReduce& reduce);

  ThreadPool& pool_;
  const KernelTable& table_;
  LinearObserver* observer_ = nullptr;
  HostArena weights_;
  StepLimits limits_;
  Buffer scratch_buffer_;
  Scratch scratch_;
  bool has_block_weights_ = false;
  std::int64_t matrix_rows_ = 0;  ///< rows from which all block weights read the matrix alone
  View quantised_;                ///< the rows in scratch_.q; null: none
  ExpertPlan experts_;
  std::vector<ExpertWork> expert_work_;  ///< the current loop's experts
  AttentionPlan attention_;
  /// For each counter of attention_, the splits that are not computed yet.
  std::vector<std::atomic<std::int32_t>> splits_left_;
};

}  // namespace ingot
