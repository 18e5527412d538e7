// CpuBackend: runs all ops on the CPU. Results are bit-equal for every number of threads and every
// instruction set.
#pragma once

#include <atomic>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/adapter_rows.h"
#include "backend/cpu/attention_plan.h"
#include "backend/cpu/expert_plan.h"
#include "backend/cpu/kernel_table.h"
#include "backend/cpu/linear_input.h"
#include "backend/cpu/panel.h"
#include "backend/cpu/panel_work.h"
#include "backend/observer.h"
#include "base/thread_pool.h"

namespace ingot {

/// Runs the ops with one kernel table on threads. Other code may use these threads between steps.
///
/// Threads compute items: a few panels of outputs, a few rows or heads, or a split of keys. No sum
/// spans items. The last thread joins the states of splits in order. So results do not depend on
/// which thread runs an item. `plan` sets the scratch memory; an op that needs more is a bug.
class CpuBackend final : public Backend {
 public:
  CpuBackend(ThreadPool& pool, const KernelTable& table) : pool_(pool), table_(table) {}

  const char* name() const override { return "cpu"; }
  const KernelTable& table() const { return table_; }
  /// Lets `observer` receive the inputs of all later linears. Null: no observer.
  void observe(LinearObserver* observer) { observer_ = observer; }

  Buffer allocate(std::int64_t bytes) override { return allocate_host(bytes); }
  Weight prepare(std::span<const View> parts, std::span<const float> bias, Use use) override;
  std::uint32_t packed_layout() const override { return kPanelLayout; }
  Weight adopt(std::span<const View> parts, std::span<const float> bias,
               std::span<const std::byte> packed, Use use) override;
  std::int64_t prepared_bytes(std::span<const View> parts, bool bias, Use use) const override;
  std::int64_t kv_block_bytes(const Attention& a, KvType type) const override;
  void kv_copy(std::span<const KvLayer> layers, std::int32_t from, std::int32_t to) override;
  void kv_read(const Attention& a, std::span<const KvLayer> layers, std::int32_t block,
               std::span<std::byte> out) const override;
  void kv_load(const Attention& a, std::span<const KvLayer> layers, std::int32_t block,
               std::span<const std::byte> in) override;
  std::string unsupported(const ModelOps& model) const override;
  std::int64_t scratch_bytes(const StepLimits& limits) const override;
  void plan(const StepLimits& limits) override;

  void step(const Batch& batch, FunctionRef<void()> body) override;
  void embed(const Batch& batch, const Embedding& e, View x) override;
  void norm(View x, Term add, const Norm& n, View out, Next next) override;
  void scale(View x, float factor) override;
  void linear(View in, const Weight& w, View out) override;
  void linear_heads(View in, std::span<const Weight> w, std::int32_t extra, View out) override;
  void rope(View qkv, const Batch& b, const HeadNorms& n, const Attention& a) override;
  void kv_write(View qkv, const Batch& b, const Attention& a, KvLayer kv) override;
  void attention(View qkv, const Batch& b, const Attention& a, KvLayer kv, View out,
                 Next next) override;
  void activate(View in, Act act, bool gated, View out, Next next) override;
  void glu(View gate, View up, Act act, View out, Next next) override;
  void add_gated(View x, View y, View gate) override;
  void time_moe(MoeSeconds* seconds) override { moe_seconds_ = seconds; }
  void moe(View in, const MoeWeights& w, const Moe& m, View out) override;
  void gather(View x, const Batch& batch, View out) override;
  void logits(View in, const Head& head, const LogitsReduce& reduce) override;
  void pool(View x, const Batch& batch, Pooling pooling, View out) override;
  void normalise(View x) override;

 private:
  /// Floats of A x that a loop over runs holds: all rows of usual steps and ranks, and a row of the
  /// largest ranks. With fewer, the loop reads adapters again.
  static constexpr std::int64_t kAdapterFloats = std::int64_t{1} << 18;

  /// Rows of a wave, in the order of routed rows. Row 0 of `view` is routed row `first`.
  struct WaveRows {
    View view;
    std::int32_t first = 0;
    View of(const ExpertRows& e) const { return view.slice(e.first - first, e.count); }
  };
  /// One expert's share of a parallel loop over the panels of all experts in a wave.
  struct ExpertWork {
    std::int64_t first_item = 0;
    PanelWork panels;
    LinearInput rows;
  };
  /// Consecutive rows with the same adapter, and what it adds to them.
  struct AdapterRun {
    View in;   ///< [n, K] inputs; null for embeddings
    View out;  ///< [n, M]
    const Weight* a = nullptr;
    std::span<const AdapterPart> parts;
    float scale = 1;             ///< AdapterUse::scale
    float factor = 1;            ///< Embedding::scale, or 1
    std::int64_t first_row = 0;  ///< only for embeddings: number of row 0 in the batch
    View u{};                    ///< [n, sum of ranks] A x
  };
  /// A run's share of a parallel loop over the panels of A or B of all runs.
  struct AdapterWork {
    std::int64_t first_item = 0;
    PanelWork panels;
    float scale = 1;
  };
  /// Pointers into the scratch buffer, for the planned limits.
  struct Scratch {
    LinearInput q;                  ///< quantised rows of a step, for each K up to the limit
    std::int64_t q_rows = 0;        ///< number of rows that fit in `q`
    std::byte* linear = nullptr;    ///< memory of linear kernels, `linear_bytes` for each thread
    std::int64_t linear_bytes = 0;  ///< the largest LinearKernel::scratch, in bytes
    float* states = nullptr;        ///< attention states of row tiles that are cut into splits
    std::int64_t states_floats = 0;
    View head_rows;                         ///< [rows, V] logits of at most kHeadRows rows
    View router;                            ///< [T, E] the router's logits, then scores
    View choice;                            ///< [T, E] scores by which experts are chosen
    View groups;                            ///< [T, groups] scores of groups of experts
    std::int32_t* chosen_groups = nullptr;  ///< [T, Moe::groups_used], best first
    std::int64_t cached_rows = 0;           ///< number of routed rows that fit in the caches
    View routed;                            ///< [T * Moe::used, H] routed rows, then their results
    View gate_up;                           ///< [W, 2F] gate and up outputs; W: limit of wave rows
    View ffn;                               ///< [W, F] activated rows of a wave
    LinearInput wave_q;                   ///< quantised rows of a wave: of `routed`, later of `ffn`
    std::int32_t* pair_expert = nullptr;  ///< [T, Moe::used] experts of each row, best first
    float* pair_weight = nullptr;         ///< [T, Moe::used] weights of `pair_expert`
    ExpertPlanMemory experts;
    float* adapter_u = nullptr;  ///< [kAdapterFloats] A x of runs: see AdapterRun::u
    float* sums = nullptr;       ///< `sums_floats` floats for each thread: see PanelWork::add
    std::int64_t sums_floats = 0;
    std::span<std::int32_t> routed_lists;  ///< [T * Moe::used] adapters of each routed row
    std::int64_t bytes = 0;
  };
  /// Lays out scratch memory from `base` on. If `base` is null, only Scratch::bytes is valid.
  Scratch lay_out(const StepLimits& limits, std::byte* base) const;
  /// Keys of each row of a row tile: the arrays behind AttentionArgs::key, first and last.
  struct TileKeys;

  /// Makes a Weight with the segments of `parts` and with `bias`, but without packed data.
  Weight outline(std::span<const View> parts, std::span<const float> bias, Use use);
  /// Returns whether `linear` reads rows for `w` in a layout of LinearInput.
  bool reads_input(const Weight& w) const;
  /// Returns `memory` for rows of `groups` groups. Layouts that no weight needs are null.
  LinearInput layouts_of(const LinearInput& memory, std::int64_t groups) const;
  /// Returns scratch memory for the quantised or rounded `rows`. A layout that no kernel reads is
  /// null.
  LinearInput input_of(View rows) const;
  /// Quantises `rows` into input_of(rows), in pieces. Before each piece, calls make(row, first
  /// column, number of columns) for each row of the piece. One thread quantises all rows of a tile,
  /// since these rows share cache lines. With few rows, threads share the columns.
  void quantise_rows(View rows, FunctionRef<void(std::int64_t, std::int64_t, std::int64_t)> make);
  /// Returns whether there are enough `rows` for every thread to quantise whole rows.
  bool has_whole_pieces(std::int64_t rows) const;
  /// Returns whether an op also quantises its output `out`. If so, `quantised` returns these rows.
  bool keeps_quantised(View out, Next next);
  /// Marks kept quantised rows as invalid if `out` overlaps them. Every op that writes float rows
  /// calls this function or keeps_quantised.
  void overwrites(View out);
  /// Returns the quantised rows of `in`. If an earlier op kept these rows quantised and they are
  /// still valid, returns the kept rows; else quantises `in` now.
  LinearInput quantised(View in);
  /// Quantises the heads of `linear_heads`, whose inputs have `cols` columns and lie `stride`
  /// columns apart. Head h has the rows from head_row(in, h) on.
  LinearInput quantised_heads(View in, std::int64_t heads, std::int64_t cols, std::int64_t stride);
  /// Returns the first quantised row of head `h`.
  std::int64_t head_row(View in, std::int64_t h) const {
    return h * ((in.rows + rows_together() - 1) / rows_together() * rows_together());
  }
  /// Returns the scratch memory for linear kernels on thread `thread` of the pool.
  std::byte* linear_scratch(int thread) const;
  /// Computes the states of one split. If no split of this row tile and head tile is left after it,
  /// joins the states of all splits of these tiles in order, and returns true. Else returns false.
  bool run_split(const AttentionArgs& args, const AttentionItem& item);
  /// Returns the kernel arguments for `item`. Fills `keys`, to which the arguments point.
  AttentionArgs args_of(View qkv, const Batch& b, const Attention& a, const KvLayer& kv,
                        const AttentionItem& item, View out, TileKeys& keys) const;
  /// Computes out = act(gate) * up, or out = act(gate) if `up` is null.
  void activate_rows(View gate, View up, Act act, View out, Next next);
  /// Chooses each row's experts and their weights from the router's logits.
  void route(View logits, const MoeWeights& w, const Moe& m);
  void route_row(std::int64_t t, const MoeWeights& w, const Moe& m);
  /// Returns how many rows' gate, up and activated values fit in all second-level caches together.
  std::int64_t cached_rows(std::int64_t ffn) const;
  /// Returns the number of rows in one tile of quantised or rounded activations.
  std::int32_t rows_together() const {
    return table_.reads_matrix || has_rounded_rows_ ? kMatrixRows : kTileRows;
  }
  /// Copies a wave's rows: from `in` for dense formats or observers, from `q` where reads_input.
  void send_rows(View in, const LinearInput& q, const MoeWeights& w, const Moe& m,
                 const ExpertWave& wave);
  void activate_wave(const MoeWeights& w, const Moe& m, const ExpertWave& wave);
  /// Computes out = in W^T for each expert of the wave, in one parallel loop over all panels.
  void expert_linears(const ExpertWave& wave, WaveRows in, std::span<const Weight> w, WaveRows out);
  /// Computes the logits of `in`, with the head's scale and cap. Row 0 of `in` is output row
  /// `first`.
  void head_rows(View in, std::int64_t first, const Head& head, View out);
  /// linear without adapters.
  void base_linear(View in, const Weight& w, View out);
  /// Adds what the rows' adapters add to the outputs of `w`. lists[i]: see AdapterRows.
  void add_adapters(View in, const Weight& w, View out, std::span<const std::int32_t> lists);
  /// Adds what the rows' adapters add to the outputs of the wave's experts.
  void add_expert_adapters(const ExpertWave& wave, WaveRows in, std::span<const Weight> w,
                           WaveRows out);
  /// Adds what the rows' adapters add to their tokens' embeddings.
  void add_embedding_adapters(const Batch& batch, const Embedding& e, View x);
  /// Appends a run for each sequence of rows whose adapter number `turn` is the same and changes w.
  void append_runs(View in, const Weight& w, View out, std::span<const std::int32_t> lists,
                   std::int64_t turn);
  /// Appends a run, cut into pieces whose A x fit into the scratch memory.
  void append_run(const AdapterRun& run);
  /// Computes all runs, and forgets them. `batch` has the tokens of embeddings, and is else null.
  void run_adapters(const Batch* batch);
  /// Computes runs whose A x fit into the scratch memory together.
  void run_adapters(std::span<const AdapterRun> runs, const Batch* batch);
  /// Appends work to the list that `run_adapter_work` runs and forgets.
  void add_adapter_work(AdapterWork work);
  void run_adapter_work(FunctionRef<void(const AdapterWork&, std::int64_t item, int thread)> run);
  void reduce_rows(View rows, std::int64_t first, const LogitsReduce& reduce);

  ThreadPool& pool_;
  const KernelTable& table_;
  LinearObserver* observer_ = nullptr;
  HostArena weights_;
  StepLimits limits_;
  Buffer scratch_buffer_;
  Scratch scratch_;
  bool has_block_weights_ = false;
  bool has_rounded_rows_ = false;  ///< whether a weight has Segment::rounds_rows
  std::int64_t matrix_rows_ = 0;   ///< linears with this many rows or more read only `matrix`
  View quantised_;                 ///< rows whose quantised form in scratch_.q is valid; or null
  MoeSeconds* moe_seconds_ = nullptr;
  ExpertPlan experts_;
  std::vector<ExpertWork> expert_work_;  ///< work of the current loop, one entry for each expert
  AdapterRows adapters_;
  std::vector<AdapterRun> adapter_runs_;   ///< runs of the current linear
  std::vector<AdapterWork> adapter_work_;  ///< work of the current loop over runs
  std::int64_t adapter_items_ = 0;         ///< number of items of `adapter_work_`
  AttentionPlan attention_;
  /// For each counter of attention_: the number of splits that no thread has computed yet.
  std::vector<std::atomic<std::int32_t>> splits_left_;
};

}  // namespace ingot
