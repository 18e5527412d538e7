// Helpers for tests of the scheduler: a block pool and sequences without a model.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "runtime/schedule/scheduler.h"

namespace ingot {

/// A KvCache without a model. Its blocks have 64 bytes, which are never written.
class Pool {
 public:
  explicit Pool(std::int32_t blocks, std::int32_t window = 0, std::int32_t window_blocks = 0)
      : backend_(threads_, scalar_kernels()) {
    std::vector<KvGroup> groups{{.layers = {0}, .window = 0, .block_bytes = 64}};
    std::vector<std::int32_t> sizes{blocks};
    if (window > 0) {
      groups.push_back({.layers = {1}, .window = window, .block_bytes = 64});
      sizes.push_back(window_blocks);
    }
    cache_ = std::make_unique<KvCache>(backend_, groups, KvType::kF16, sizes);
  }
  KvCache& cache() { return *cache_; }
  void expect_all_free() {
    for (std::int32_t g = 0; g < cache_->groups(); ++g) {
      EXPECT_EQ(cache_->pool(g).available(), cache_->pool(g).total());
      cache_->pool(g).check();
    }
  }

 private:
  ThreadPool threads_{1};
  CpuBackend backend_;
  std::unique_ptr<KvCache> cache_;
};

/// Makes a sequence of `tokens` ids that count up from `first_token` or, for -1, from a new id.
inline std::unique_ptr<Sequence> sequence_of(Pool& pool, std::int64_t tokens,
                                             std::int32_t first_token = -1) {
  static std::int32_t made = 0;
  auto s = std::make_unique<Sequence>(pool.cache());
  s->id = static_cast<std::uint64_t>(++made);
  s->tokens.resize(static_cast<std::size_t>(tokens));
  std::iota(s->tokens.begin(), s->tokens.end(), first_token < 0 ? made * 100000 : first_token);
  return s;
}

/// Returns tokens for `commit`: the id 7 for each part with an output, and none for its drafts.
inline std::vector<std::int32_t> drawn_for(std::span<const StepPart> parts) {
  std::vector<std::int32_t> drawn;
  for (const StepPart& part : parts) {
    drawn.insert(drawn.end(), part.outputs > 0 ? 1 : 0, 7);
    drawn.insert(drawn.end(), to_size(part.drafts), -1);
  }
  return drawn;
}

/// A scheduler; `step` plans a step and commits it at once. A step takes 0 s, or the `seconds` of
/// `commit`.
class Steps {
 public:
  Steps(Pool& pool, const SchedulerLimits& limits) : scheduler_(pool.cache(), limits) {}
  Scheduler* operator->() { return &scheduler_; }
  std::span<const StepPart> plan() { return scheduler_.plan().parts; }
  void commit(std::span<const StepPart> parts, double seconds = 0) {
    scheduler_.commit(drawn_for(parts), seconds);
  }
  /// Commits the oldest of several steps under way.
  void commit_oldest() { commit(scheduler_.step_under_way(0).parts); }
  void step() {
    const auto parts = plan();
    if (!parts.empty()) commit(parts);
  }

 private:
  Scheduler scheduler_;
};

}  // namespace ingot
