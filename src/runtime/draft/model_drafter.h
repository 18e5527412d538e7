// ModelDrafter: drafts with a smaller model that has the same tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/draft/drafter.h"
#include "runtime/executor.h"
#include "runtime/sampling/sampler.h"
#include "runtime/schedule/step_times.h"

namespace ingot {

/// Receives the message of a draft model's first error, on the engine's thread; or empty.
using DraftErrorReport = std::function<void(std::string_view)>;

/// Drafts for all sequences of a batch with a draft model, in its own executor and KV cache. It
/// draws with the parameters and random numbers of the target's draws, because equal noise makes
/// equal tokens likelier. It ignores adapters and constraints, which only costs acceptance.
///
/// A prompt is computed in pieces, one for each call, so that other requests do not wait for it.
/// Until then its sequence has no drafts. If the KV cache is full, the sequence that was used last
/// longest ago loses its rows, but none that was used in the last calls. Sequences with embeddings,
/// or with tokens that only the target has, get no drafts.
class ModelDrafter final : public Drafter {
 public:
  /// `executor` is the draft model's: its limits allow `rows` rows and a row of logits for each
  /// sequence. `ids`: number of tokens that both models have. `report` is called once with the
  /// first error of `propose`. The other arguments must outlive this object. Errors:
  /// Error{kDoesNotFit}.
  ModelDrafter(Executor& executor, ThreadPool& pool, const HostKernels& kernels, std::int64_t ids,
               DraftErrorReport report);

  /// Computes a step, so that the first drafts are not slow. Errors: those of Executor::run_now.
  void warm_up();

  void propose(std::span<DraftTask* const> tasks) override;
  /// Reports the first error.
  void failed(std::string_view error) override;
  double seconds(std::size_t tasks) const override;
  double likelihood() const override { return likelihood_; }
  void end(RunningRequest& request) override { tracks_.erase(request.sequence().id); }

 private:
  /// The draft model's rows of one request.
  struct Track {
    Track(KvCache& cache, SamplingParams own) : sequence(cache), params(std::move(own)) {}
    Sequence sequence;       ///< the target's tokens, and then drafts
    SamplingParams params;   ///< those of the request, without log-probabilities
    std::int64_t known = 0;  ///< number of the target's tokens at the last call
    std::int64_t used = 0;   ///< number of the last call
    /// Whether it gets no drafts: the draft model lacks one of its tokens, or has computed NaN.
    bool is_given_up = false;
  };

  /// A task that still gets drafts.
  struct Active {
    DraftTask* task = nullptr;
    Track* track = nullptr;
    bool is_over = false;  ///< whether nothing can follow its drafts
  };

  Track& track_of(RunningRequest& request);
  void follow(Track& track, const Sequence& target);
  bool fits_alone(std::int64_t rows) const;
  bool reserve(Track& track, std::int64_t rows);
  bool release_oldest();
  void compute_prompts();
  void draft(std::int32_t index);
  void take(Active& active, const Drawn& drawn);

  Executor& executor_;
  ThreadPool& pool_;
  DraftErrorReport report_;  ///< empty once it was called
  Sampler sampler_;
  std::map<std::uint64_t, Track> tracks_;  ///< by id of the request
  std::int64_t calls_ = 0;
  double likelihood_;
  StepTimes times_;
  std::vector<Active> active_;
  // Arrays of a step, in the order of `active_`.
  std::vector<StepPart> parts_;
  std::vector<SampleRow> rows_;
  std::vector<Drawn> drawn_;
};

}  // namespace ingot
