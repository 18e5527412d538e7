// CpuBackend: the ops on ordinary processors, exact whatever the thread count and instruction set.
#pragma once

#include <atomic>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/kernel_table.h"
#include "backend/cpu/linear_input.h"
#include "backend/cpu/panel.h"
#include "backend/cpu/panel_work.h"
#include "backend/observer.h"
#include "base/thread_pool.h"

namespace ingot {

/// Runs the ops of one kernel table on a thread pool that others may share between steps.
///
/// No sum crosses threads: work is cut into panels of outputs, rows, heads, or splits of keys,
/// which whoever is done last folds in their order, so results do not depend on who runs what.
/// Scratch memory is planned once; an op beyond the planned limits is a bug.
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
  void kv_read(const Attention& a, const KvLayer& kv, std::int32_t block,
               std::span<std::byte> out) const override;
  void kv_load(const Attention& a, const KvLayer& kv, std::int32_t block,
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
  void argmax(View x, std::span<std::int32_t> out) override;

 private:
  /// An expert's rows. Slots sorted by expert are numbered through all experts.
  struct ExpertRows {
    std::int32_t first = 0;  ///< sorted slot
    std::int32_t count = 0;
    std::int32_t q_first = 0;  ///< row in the wave's quantised rows, the first of those together
  };
  /// Experts whose rows go through gate, up and down together: as many as the second caches hold
  /// the rows of, at least one.
  struct ExpertWave {
    std::int32_t expert = 0;  ///< [expert, end_expert)
    std::int32_t end_expert = 0;
    std::int32_t slot = 0;  ///< sorted: [slot, end_slot)
    std::int32_t end_slot = 0;
  };
  /// Rows by sorted slot, `first` that of row 0.
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
  /// Scratch as offsets into one buffer, for given limits.
  struct Scratch {
    LinearInput q;                  ///< of the rows of a step, of any K
    std::int64_t q_rows = 0;        ///< that `q` has room for
    std::byte* linear = nullptr;    ///< of each thread `linear_bytes`
    std::int64_t linear_bytes = 0;  ///< what any kernel of `linear` asks for
    float* states = nullptr;        ///< of attention's splits, `states_floats` of them
    std::int64_t states_floats = 0;
    View head_rows;                       ///< [<= kHeadRows, V]
    View router;                          ///< [T, E]
    std::int64_t wave_rows = 0;           ///< W, room for those of one wave
    std::int64_t cached_rows = 0;         ///< of a wave that the second caches hold
    View routed;                          ///< [T*k, H]: by sorted slot rows, then experts' results
    View gate_up;                         ///< [W, 2F]
    View ffn;                             ///< [W, F]
    LinearInput wave_q;                   ///< of the rows of `routed` in a wave, then of `ffn`
    std::int32_t* slot_expert = nullptr;  ///< [T, k]
    float* slot_weight = nullptr;         ///< [T, k]
    std::int32_t* slot_row = nullptr;     ///< [T, k]: where a slot stands in `routed`
    std::int32_t* sorted_slot = nullptr;  ///< [T*k]: the slot of a row of `routed`
    ExpertRows* expert_rows = nullptr;    ///< [E]
    std::int64_t bytes = 0;
  };
  /// Lays scratch out from `base`, which may be null to learn the size.
  Scratch lay_out(const StepLimits& limits, std::byte* base) const;

  /// Rows [row, end) of one sequence, which share what they read of its keys and values.
  struct RowTile {
    std::int32_t sequence = 0;
    std::int64_t row = 0;
    std::int64_t end = 0;
    std::int64_t keys = 0;          ///< that some of its rows see, in whole chunks
    std::int32_t first_split = 0;   ///< of those that its rows see some of
    std::int32_t splits = 1;        ///< that its rows see some of; 1 if threads do not share them
    std::int64_t part = 0;          ///< number of its first split in its sequence
    std::int64_t left = 0;          ///< where splits_left_ has its head tiles, if shared
    std::int64_t states = 0;        ///< the same of scratch_.states
    std::int64_t state_floats = 0;  ///< that the states of a head tile take after a split
  };
  /// Query heads of `kv_heads` neighbouring kv heads, `heads` of each, from `head` on.
  struct HeadTile {
    std::int64_t kv_head = 0;
    std::int64_t head = 0;
    std::int32_t kv_heads = 0;
    std::int32_t heads = 0;
  };
  /// How the query heads of an attention are cut into kernel calls.
  struct HeadTiles {
    std::int64_t kv_heads = 0;      ///< in all
    std::int64_t per_kv = 0;        ///< query heads of a kv head
    std::int64_t together = 0;      ///< kv heads that a call takes at most
    std::int64_t tiles_per_kv = 0;  ///< calls for those, more than one only for a single kv head
    std::int64_t heads = 0;         ///< query heads of a kv head that one takes at most
    std::int64_t count = 0;         ///< calls for all kv heads

    /// Of at most `most` kv heads a call.
    HeadTiles(const Attention& a, std::int64_t most);
    HeadTile at(std::int64_t tile) const;
  };
  /// A sequence's part of an attention.
  struct SequenceTiles {
    std::int64_t tile = 0;  ///< row tiles [tile, end_tile)
    std::int64_t end_tile = 0;
    std::int64_t parts = 0;  ///< their splits
    std::int64_t item = 0;   ///< number of the first item
    HeadTiles heads;
  };
  /// An attention while it is cut. Work is keys times calls that read them.
  struct AttentionCut {
    std::int64_t work_of_item = 0;  ///< the most that one is to have
    std::int64_t items = 0;
    std::int64_t left = 0;    ///< of splits_left_ that are taken
    std::int64_t states = 0;  ///< the same of scratch_.states
  };
  struct TileKeys;  ///< what each row of a tile sees
  /// What a thread takes of an attention.
  struct AttentionItem {
    const RowTile* rows = nullptr;
    std::int32_t split = 0;  ///< of the tile's
    std::int64_t head_tile = 0;
    HeadTile heads;
  };
  /// An item of an attention is at most so small a part of what each thread has to do, as far as it
  /// can be cut and there is room for the states of its splits.
  static constexpr std::int64_t kPartOfThread = 4;

  /// A weight of these parts, without panels.
  Weight outline(std::span<const View> parts, std::span<const float> bias);
  /// Where `rows` are quantised to: scratch_.q, or of it the matrix where that is enough.
  LinearInput input_of(View rows) const;
  /// Quantises `rows` into their place there, piece by piece, each after make(row, first column,
  /// columns) for its rows. Rows that stand together there share lines, so one thread has them, and
  /// few are cut by columns among threads.
  void quantise_rows(View rows, FunctionRef<void(std::int64_t, std::int64_t, std::int64_t)> make);
  /// Whether there are enough rows that each thread gets whole ones of such pieces.
  bool has_whole_pieces(std::int64_t rows) const;
  /// Whether the op that writes `out` is to quantise its rows, for `quantised` to find them.
  bool keeps_quantised(View out, Next next);
  /// To be called by every op that writes float rows otherwise.
  void overwrites(View out);
  /// The rows of `in` as linears over block formats read them: kept from the op that wrote them,
  /// else made now.
  LinearInput quantised(View in);
  /// What a kernel of `linear` may use on thread `thread` of the pool.
  std::byte* linear_scratch(int thread) const;
  /// Cuts each sequence's rows into as few tiles of at most `most` rows as can be, of like size:
  /// row_tiles_. Returns the keys of all.
  std::int64_t tile_rows(const Batch& b, const Attention& a, std::int64_t most);
  /// Cuts an attention into items, sequence_tiles_, that threads take; returns how many.
  std::int64_t cut_attention(const Batch& b, const Attention& a);
  /// The sequence's part of row_tiles_.
  std::span<RowTile> row_tiles_of(const SequenceTiles& sequence);
  /// The sequence's head tiles, parts and items.
  void cut_sequence(const Attention& a, SequenceTiles& sequence, AttentionCut& cut);
  /// Lets threads share the splits of the sequence's tiles that would be too much for an item.
  /// Where there is no room for the states of all of them, none are shared, and it returns false.
  bool share_splits(const Attention& a, const SequenceTiles& sequence, AttentionCut& cut);
  /// Item `item` of an attention. A sequence comes after the other: their keys and values lie far
  /// apart, and pages of memory are found faster when they have just been read. Of a sequence one
  /// head tile comes after the other, so that its rows find keys and values in a cache.
  AttentionItem attention_item(std::int64_t item) const;
  /// Runs an item of a shared tile and, if it is the last one of these to be done, joins them:
  /// always in the same order. Returns whether it did.
  bool run_split(const AttentionArgs& args, const AttentionItem& item);
  /// What a kernel gets for an item.
  AttentionArgs args_of(View qkv, const Batch& b, const Attention& a, const KvLayer& kv,
                        const AttentionItem& item, View out, TileKeys& keys) const;
  void route(View logits, const Moe& m);
  /// Rows whose gate, up and activation of width `ffn` the threads' second caches hold.
  std::int64_t cached_rows(std::int64_t ffn) const;
  /// Where a slot stands in the wave's quantised rows.
  std::int64_t quantised_row(std::int32_t slot) const;
  /// Sorts the slots of so many rows by expert.
  void sort_slots(std::int64_t rows, const Moe& m);
  /// Rows whose quantised activations the table's kernels want together.
  std::int32_t rows_together() const { return table_.reads_matrix ? kMatrixRows : kTileRows; }
  /// The wave that begins with `expert`.
  ExpertWave wave_from(std::int32_t expert, const Moe& m);
  /// Rows of `in`, and of `q` where weights read it, to the experts of the wave.
  void send_rows(View in, const LinearInput& q, const MoeWeights& w, const Moe& m,
                 const ExpertWave& wave);
  void activate_wave(const MoeWeights& w, const Moe& m, const ExpertWave& wave);
  /// out = in W^T for the rows of each expert of the wave: one loop over the panels of all.
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
  std::int64_t matrix_rows_ = 0;         ///< from which all block weights read the matrix alone
  View quantised_;                       ///< whose rows scratch_.q holds, none: nobody's
  std::vector<ExpertWork> expert_work_;  ///< of the loop under way; room for all is planned
  // Of the attention under way; room for one a row.
  std::vector<RowTile> row_tiles_;
  std::vector<SequenceTiles> sequence_tiles_;
  /// Of each head tile and row tile whose splits are shared: those that are not done yet.
  std::vector<std::atomic<std::int32_t>> splits_left_;
};

}  // namespace ingot
