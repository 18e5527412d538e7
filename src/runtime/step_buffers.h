// StepBuffers: the batch of one step under way and its results, in host memory.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "backend/host_rows.h"
#include "model/forward.h"
#include "model/model.h"
#include "runtime/sampling/draw_rows.h"
#include "runtime/sampling/sampler.h"
#include "runtime/schedule/step.h"

namespace ingot {

/// Sizes of the largest step, and the kinds of results that steps have.
struct ExecutorLimits {
  std::int32_t rows = 0;
  std::int32_t out_rows = 0;  ///< limit on rows of logits, scored rows and hidden states together
  std::int32_t sequences = 0;
  std::int64_t context = 0;      ///< limit on the tokens of a sequence
  std::int32_t logits_rows = 0;  ///< limit on the rows of logits
  bool draft_hidden = false;     ///< whether a Drafter gets the hidden states of all rows
  std::int32_t draft_rows = 0;   ///< limit on the rows that are drafts, which give logits too
  std::int64_t ids = 0;  ///< only ids below this number are drawn or in RowScore::top; 0 = all
  std::int32_t score_top = -1;  ///< number of tokens in RowScore::top; -1 = steps score no rows
  bool finds_best = false;      ///< whether steps prepare results for `Executor::best`
  bool pools = false;           ///< whether steps give pooled results
  bool adapters = false;        ///< whether rows may have adapters
};

/// The log-probability of the token after a row, and the likeliest tokens after that row.
struct RowScore {
  std::int32_t id = 0;  ///< id of the token after the row
  float logprob = 0;
  std::span<const TokenScore> top;  ///< likeliest tokens, by descending probability, then by id
};

/// Device memory for a step's results. All steps share it: a step copies its results to the host
/// before the next step overwrites them.
struct DeviceRows {
  View logits;   ///< [logits_rows, V], or null
  View outputs;  ///< Scratch::output, [out_rows, H]
  View pooled;   ///< Scratch::pooled, [sequences, pooled results' size], or null
};

/// One step's arrays and results, allocated for the largest step. The step's R output rows are in
/// the order: logits, scored rows, hidden states with final norm, hidden states without it.
class StepBuffers {
 public:
  /// All arguments must outlive this object. Errors: Error{kDoesNotFit}.
  StepBuffers(const Model& model, const Backend& backend, const KvCache& cache,
              const ExecutorLimits& limits, const DeviceRows& device);

  /// Fills the arrays for a step. Does not change sequences. `draws[i]` is how to draw from row i
  /// of logits; empty if the backend draws no tokens. `drawn_before`: number of rows from which the
  /// device draws in the step begun before.
  void fill(std::span<const StepPart> parts, std::span<const SampleRow> draws,
            std::int64_t drawn_before);
  /// Gives zeros to embedding rows of removed sequences, because their requests may be gone. The
  /// rows' results are not used. `parts`: those of `fill`.
  void forget_removed(std::span<const StepPart> parts);
  /// Replaces each token that stands for a drawn token of the step before, by the entry of `drawn`.
  void resolve(std::span<const std::int32_t> drawn);

  /// Forgets the adapters of the step, which has ended, so that unloaded ones can be freed.
  void forget_adapters();

  /// Returns the number of rows from which the device draws.
  std::int64_t draws() const { return std::ssize(draws_.rows()); }
  /// Returns the filled batch. The spans stay valid until the next `fill`.
  Batch batch();
  /// Returns what the step computes, with the arrays that take the results.
  Outputs outputs();

  // Results. Call these functions only after Backend::wait for the step.

  /// Returns the token that the device drew for row `i` of logits, kNoToken or kAllExcluded; empty
  /// if the host draws the token.
  std::optional<std::int32_t> drawn(std::int64_t i) const;
  /// Returns what the device drew for each row of logits; empty if the device draws nothing.
  std::span<const std::int32_t> drawn() const;
  // As the functions of Executor with these names.
  std::span<float> logits(std::int64_t i) const;
  std::int32_t best(std::int64_t i) const;
  RowScore score(std::int64_t i) const;
  std::span<const float> hidden(std::int64_t i) const;
  std::span<const float> pooled(std::int64_t i) const;

 private:
  void add_part(const StepPart& part, std::int32_t index);
  std::int32_t add_adapters(const std::shared_ptr<const AdapterList>& adapters);
  void add_draws(std::span<const SampleRow> draws);
  void add_scores(std::span<const StepPart> parts);
  void add_hidden(std::span<const StepPart> parts, bool final_norm);
  void add_out_row(std::size_t p, const StepPart& part, std::int64_t i);
  void add_logits_fetches();

  const Model& model_;
  const ExecutorLimits limits_;
  std::int32_t blocks_max_ = 0;
  std::int32_t score_top_ = 0;  ///< score_top of the limits, but at most the number of ids

  // The arrays of a Batch, under the names of its members.
  std::vector<std::int32_t> tokens_, types_, positions_, q_start_, kv_len_, out_rows_, pool_seqs_;
  bool has_types_ = false;
  std::vector<View> embeddings_;
  bool has_embeddings_ = false;
  std::vector<float> zero_row_;  ///< [H] zeros
  std::vector<std::vector<std::int32_t>> slots_, tables_;
  std::vector<std::int32_t> adapter_, adapter_from_;
  /// The lists of adapters, each once. A list's uses are copies, which the device may still read
  /// when the requests have ended.
  std::vector<std::shared_ptr<const AdapterList>> lists_;
  std::vector<std::vector<AdapterUse>> uses_;          ///< by list; keeps the memory of all steps
  std::vector<std::span<const AdapterUse>> adapters_;  ///< views of `uses_`, by list
  std::vector<KvBlocks> groups_;

  std::int64_t logits_rows_ = 0;  ///< number of rows of logits
  std::int64_t reduced_ = 0;      ///< `logits_rows_` plus the number of scored rows
  std::int64_t normed_ = 0;       ///< `reduced_` plus the number of hidden states with final norm

  // Results. Arrays named score_* have entries for rows of logits and for scored rows.
  HostRows logits_;                      ///< [logits_rows, V]
  HostRows hidden_;                      ///< [R, H], used from row `reduced_` on
  HostRows pooled_;                      ///< [P, size of a pooled result]
  std::vector<RowFetch> fetches_;        ///< copies of rows that the host cannot use in place
  DrawRows draws_;                       ///< how the device draws from the rows of logits
  std::vector<std::int32_t> drawn_;      ///< [logits_rows] tokens that the device drew
  std::vector<std::int32_t> best_;       ///< [R]: id of the largest logit in each row
  std::vector<std::int32_t> score_ids_;  ///< [R]: id of the token after each row
  std::vector<float> score_logprobs_;    ///< [R]: log-probability of the token in `score_ids_`
  std::vector<TokenScore> score_tops_;   ///< [R, score_top_]: likeliest tokens after each row
};

}  // namespace ingot
