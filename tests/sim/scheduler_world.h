// SchedulerWorld: a scheduler without an engine; it verifies drafts, and tokens are taken back.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/schedule/scheduler.h"
#include "sim/cache_checker.h"
#include "sim/draft_maker.h"
#include "sim/eviction_checker.h"
#include "sim/fairness.h"
#include "sim/fake_model.h"
#include "sim/settings.h"
#include "sim/share_checker.h"
#include "sim/trace.h"
#include "sim/world.h"

namespace ingot::sim {

/// One seed's scheduler. After tokens are taken back, a sequence continues with other tokens.
class SchedulerWorld {
 public:
  SchedulerWorld(const Settings& settings, Backend& backend, Random& random, Trace& trace,
                 Tally& tally);

  /// Runs `ticks` ticks, then until all sequences have ended.
  void run(std::int64_t ticks);

 private:
  struct Runner {
    explicit Runner(KvCache& cache) : sequence(cache) {}
    Job job;
    Sequence sequence;
    std::int64_t end = 0;  ///< the length at which it ends
    std::int32_t truncations = 0;
    bool refused = false;
    bool is_pooled = false;  ///< it ends with its pooled result
    bool is_over() const { return sequence.length() >= end || (is_pooled && !sequence.pools); }
  };
  void tick();
  void arrive(std::optional<std::uint64_t> tenant = std::nullopt, std::int64_t rows = 0);
  void add(std::unique_ptr<Runner> runner, Runner* before);
  void draw_pooled(Runner& r);
  void rest(std::unique_ptr<Runner> runner);
  void visit_resting();
  void continue_rows(Runner& before);
  void drop_resting();
  void top_up();
  void disturb(Runner& r);
  void truncate(Runner& r);
  void give_drafts();
  void turn();
  void check_idle() const;
  std::span<const SampleRow> draws(const Step& step);
  void commit(const Step& step);
  void draw(const StepPart& part);
  void end(const Job& job);
  void remove_ended();
  void look();

  const Settings& settings_;
  Random& random_;
  Random kinds_;  ///< a separate stream for pooled results and sequences that rest
  DraftMaker drafts_;
  Trace& trace_;
  Tally& tally_;
  double now_ = 1000;
  std::int64_t tick_ = 0;
  bool is_calm_ = false;
  KvCache cache_;
  FakeModel model_;
  Scheduler scheduler_;
  EvictionChecker evictions_;
  CacheChecker checker_;
  ShareChecker shares_;
  std::optional<Fairness> fairness_;  ///< where tenants always wait
  std::vector<std::unique_ptr<Runner>> alive_;
  std::vector<std::unique_ptr<Runner>> resting_;  ///< ended, perhaps with their blocks
  std::vector<std::unique_ptr<Runner>> gone_;     ///< steps under way may still have their jobs
  std::vector<std::int32_t> stem_;                ///< the beginning of prompts
  std::vector<std::int32_t> drawn_;
  const SamplingParams params_{};  ///< parameters of all draws
  std::vector<SampleRow> draws_;
  std::uint64_t last_id_ = 0;
};

}  // namespace ingot::sim
