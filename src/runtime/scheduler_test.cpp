// Scheduler: properties over random arrivals, readers and pools, and its rules one by one.
#include "runtime/scheduler.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <set>

#include "backend/cpu/cpu_backend.h"
#include "base/text.h"

namespace ingot {
namespace {

/// A pool of blocks without a model: pages of 64 bytes that nobody writes.
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
      EXPECT_EQ(cache_->pool(g).free(), cache_->pool(g).total());
      cache_->pool(g).check();
    }
  }

 private:
  ThreadPool threads_{1};
  CpuBackend backend_;
  std::unique_ptr<KvCache> cache_;
};

std::unique_ptr<Sequence> sequence_of(Pool& pool, std::int64_t tokens, std::uint64_t id = 0) {
  auto s = std::make_unique<Sequence>(pool.cache());
  s->id = id;
  s->tokens.assign(static_cast<std::size_t>(tokens), 1);
  return s;
}

std::vector<std::int32_t> drawn_for(std::span<const StepPart> parts) {
  std::vector<std::int32_t> drawn;
  for (const StepPart& part : parts) drawn.insert(drawn.end(), part.outputs > 0 ? 1 : 0, 7);
  return drawn;
}

void step(Scheduler& scheduler) { scheduler.commit(drawn_for(scheduler.plan())); }

TEST(Scheduler, CutsAPromptIntoChunksAndDrawsFromTheLast) {
  Pool pool(8);
  Scheduler scheduler(pool.cache(), {.rows = 10, .sequences = 2});
  const auto s = sequence_of(pool, 25);
  scheduler.add(*s);
  for (const std::int32_t rows : {10, 10, 5}) {
    const auto parts = scheduler.plan();
    ASSERT_EQ(parts.size(), 1u);
    EXPECT_EQ(parts[0].rows, rows);
    EXPECT_EQ(parts[0].outputs, rows == 5 ? 1 : 0);
    scheduler.commit(drawn_for(parts));
  }
  EXPECT_EQ(s->length(), 26);
  EXPECT_EQ(s->tokens.back(), 7);
  scheduler.remove(*s);
  pool.expect_all_free();
}

TEST(Scheduler, WhoLacksOneRowGetsItBesideALongPrompt) {
  Pool pool(64);
  Scheduler scheduler(pool.cache(), {.rows = 8, .sequences = 3});
  const auto a = sequence_of(pool, 1), b = sequence_of(pool, 1), longest = sequence_of(pool, 100);
  for (Sequence* s : {longest.get(), a.get(), b.get()}) scheduler.add(*s);
  scheduler.remove(*longest);
  step(scheduler);
  scheduler.add(*longest);
  for (std::int64_t computed = 6; computed <= 96; computed += 6) {
    const auto parts = scheduler.plan();
    ASSERT_EQ(parts.size(), 3u);
    EXPECT_EQ(parts[0].sequence, a.get());
    EXPECT_EQ(parts[1].sequence, b.get());
    EXPECT_EQ(parts[2].rows, 6);
    scheduler.commit(drawn_for(parts));
    EXPECT_EQ(longest->computed, computed);
  }
  for (Sequence* s : {longest.get(), a.get(), b.get()}) scheduler.remove(*s);
  pool.expect_all_free();
}

TEST(Scheduler, TheLastAdmittedGivesWayAndComesBackFirst) {
  Pool pool(4);
  Scheduler scheduler(pool.cache(), {.rows = 64, .sequences = 2});
  const auto first = sequence_of(pool, 17), second = sequence_of(pool, 16),
             third = sequence_of(pool, 1);
  for (Sequence* s : {first.get(), second.get(), third.get()}) scheduler.add(*s);
  while (first->computed < 32) step(scheduler);
  EXPECT_EQ(scheduler.preemptions(), 0);
  EXPECT_EQ(second->computed, 31);
  step(scheduler);  // the first needs its third block, and the second has two
  EXPECT_EQ(scheduler.preemptions(), 1);
  EXPECT_EQ(first->computed, 33);
  EXPECT_FALSE(second->admitted);
  EXPECT_EQ(second->computed, 0);
  EXPECT_FALSE(third->admitted) << "it overtakes who was thrown out";
  scheduler.remove(*first);
  step(scheduler);
  EXPECT_EQ(second->computed, 32);
  EXPECT_TRUE(third->admitted);
  scheduler.remove(*second);
  scheduler.remove(*third);
  pool.expect_all_free();
}

TEST(Scheduler, NobodyIsLetInToBeThrownOutAtOnce) {
  Pool pool(4);
  Scheduler scheduler(pool.cache(), {.rows = 64, .sequences = 2});
  const auto first = sequence_of(pool, 31), second = sequence_of(pool, 32);
  scheduler.add(*first);
  step(scheduler);
  scheduler.add(*second);
  step(scheduler);
  EXPECT_FALSE(second->admitted) << "the first will need a block of those that it would take";
  scheduler.remove(*first);
  step(scheduler);
  EXPECT_EQ(second->computed, 32);
  scheduler.remove(*second);
  pool.expect_all_free();
}

TEST(Scheduler, AChunkShrinksRatherThanThrowSomebodyOut) {
  Pool pool(3);
  Scheduler scheduler(pool.cache(), {.rows = 20, .sequences = 2});
  const auto a = sequence_of(pool, 40), b = sequence_of(pool, 2);
  scheduler.add(*a);
  step(scheduler);
  EXPECT_EQ(a->computed, 20);
  ASSERT_TRUE(b->blocks.reserve(1));  // a stranger holds the last block
  const auto parts = scheduler.plan();
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].rows, 12);
  scheduler.commit(drawn_for(parts));
  EXPECT_EQ(scheduler.preemptions(), 0);
  b->blocks.truncate(0);
  scheduler.remove(*a);
  pool.expect_all_free();
}

TEST(Scheduler, APausedSequenceKeepsItsBlocksUntilSomebodyNeedsThem) {
  Pool pool(4);
  Scheduler scheduler(pool.cache(), {.rows = 64, .sequences = 2});
  const auto slow = sequence_of(pool, 40), other = sequence_of(pool, 5),
             large = sequence_of(pool, 50);
  scheduler.add(*slow);
  step(scheduler);
  slow->paused = true;
  EXPECT_TRUE(scheduler.plan().empty());
  EXPECT_EQ(slow->computed, 40);
  scheduler.add(*large);
  step(scheduler);
  EXPECT_FALSE(slow->admitted);
  EXPECT_EQ(large->computed, 50);
  scheduler.add(*other);
  slow->paused = false;
  scheduler.remove(*large);
  step(scheduler);
  EXPECT_EQ(slow->computed, 41) << "it comes back first";
  for (Sequence* s : {slow.get(), other.get()}) scheduler.remove(*s);
  pool.expect_all_free();
}

TEST(Scheduler, APartIsEmbeddingsOrTokensAndScoresAreAskedForOnce) {
  Pool pool(8);
  Scheduler scheduler(pool.cache(), {.rows = 6, .sequences = 1});
  std::vector<float> rows(8 * 4);
  const auto given = sequence_of(pool, 3);
  given->embeddings = f32_view(rows.data(), 8, 4);
  scheduler.add(*given);
  for (const std::int32_t count : {6, 2, 3}) {
    const auto parts = scheduler.plan();
    ASSERT_EQ(parts.size(), 1u);
    EXPECT_EQ(parts[0].rows, count);
    scheduler.commit(drawn_for(parts));
  }
  scheduler.remove(*given);

  const auto scored = sequence_of(pool, 10);
  scored->scores_end = 9;
  scheduler.add(*scored);
  auto parts = scheduler.plan();
  EXPECT_EQ(parts[0].first_score, 0);
  EXPECT_EQ(parts[0].scores, 6);
  scheduler.commit(drawn_for(parts));
  scored->computed = 2;  // as if it had been thrown out and begun again
  parts = scheduler.plan();
  EXPECT_EQ(parts[0].rows, 6);
  EXPECT_EQ(parts[0].first_score, 6);
  EXPECT_EQ(parts[0].scores, 2);
  scheduler.commit(drawn_for(parts));
  parts = scheduler.plan();
  EXPECT_EQ(parts[0].scores, 1);
  EXPECT_EQ(parts[0].outputs, 1);
  scheduler.commit(drawn_for(parts));
  scheduler.remove(*scored);
  pool.expect_all_free();
}

TEST(Scheduler, KnowsWhatFitsAlone) {
  Pool pool(4, 8, 3);
  const Scheduler scheduler(pool.cache(), {.rows = 16, .sequences = 1});
  EXPECT_TRUE(scheduler.fits_alone(64));
  EXPECT_FALSE(scheduler.fits_alone(65));
  Pool small(4, 8, 2);
  EXPECT_FALSE(Scheduler(small.cache(), {.rows = 16, .sequences = 1}).fits_alone(64));
}

/// Random work for a scheduler, with every promise checked at every step.
class Simulation {
 public:
  explicit Simulation(std::uint64_t seed)
      : rng_(seed),
        window_(below(2) == 0 ? 0 : 1 + below(40)),
        limits_(random_limits()),
        pool_(5 + below(12), window_, blocks_for_window()),
        scheduler_(pool_.cache(), limits_),
        pauses_(below(2) == 0) {}

  void run() {
    std::uint64_t arrived = 0;
    const std::uint64_t all = 3 + static_cast<std::uint64_t>(below(20));
    for (int tick = 0; arrived < all || !alive_.empty(); ++tick) {
      ASSERT_LT(tick, 20000) << alive_.size() << " sequences do not get on";
      while (arrived < all && below(4) == 0) arrive(++arrived);
      change();
      one_step();
      if (testing::Test::HasFatalFailure()) return;
    }
    pool_.expect_all_free();
  }
  std::int64_t preemptions() const { return scheduler_.preemptions(); }

 private:
  struct Job {
    std::unique_ptr<Sequence> sequence;
    std::int64_t end = 0;  ///< its length when it is done
    bool was_admitted = false;
  };

  std::int32_t below(std::int32_t n) {
    return static_cast<std::int32_t>(rng_() % static_cast<std::uint64_t>(n));
  }
  SchedulerLimits random_limits() {
    const std::int32_t sequences = 1 + below(6);
    return {.rows = sequences + below(30), .sequences = sequences};
  }
  std::int32_t blocks_for_window() {
    const KvGroup group{.layers = {1}, .window = window_, .block_bytes = 64};
    return static_cast<std::int32_t>(group.blocks_for(1 << 20, limits_.rows)) + below(4);
  }

  void arrive(std::uint64_t id) {
    const std::int32_t longest = pool_.cache().pool(0).total() * kBlockTokens;
    Job job;
    const std::int32_t prompt = 1 + below(longest - 1);
    job.sequence = sequence_of(pool_, prompt, id);
    job.end = prompt + 1 + below(std::min(40, longest - prompt));
    ASSERT_TRUE(scheduler_.fits_alone(job.end));
    scheduler_.add(*job.sequence);
    alive_[id] = std::move(job);
  }

  void change() {
    for (auto& [id, job] : alive_) {
      if (pauses_ && below(8) == 0) job.sequence->paused = !job.sequence->paused;
    }
    if (!alive_.empty() && below(60) == 0) {
      scheduler_.remove(*alive_.begin()->second.sequence);
      alive_.erase(alive_.begin());
    }
  }

  void one_step() {
    std::set<const Sequence*> lacked_one;
    for (auto& [id, job] : alive_) {
      const Sequence& s = *job.sequence;
      if (s.admitted && !s.paused && s.length() - s.computed == 1) lacked_one.insert(&s);
    }
    const auto parts = scheduler_.plan();
    check_bounds(parts);
    check_progress(parts, lacked_one);
    check_order();
    scheduler_.commit(drawn_for(parts));
    for (auto at = alive_.begin(); at != alive_.end();) {
      Sequence& s = *at->second.sequence;
      ASSERT_LE(s.length(), at->second.end);
      if (s.length() < at->second.end) {
        ++at;
        continue;
      }
      scheduler_.remove(s);
      at = alive_.erase(at);
    }
  }

  void check_bounds(std::span<const StepPart> parts) {
    std::set<const Sequence*> seen;
    std::int32_t rows = 0;
    for (const StepPart& part : parts) {
      const Sequence& s = *part.sequence;
      EXPECT_TRUE(seen.insert(&s).second) << "twice in a step";
      EXPECT_TRUE(s.admitted && !s.paused);
      EXPECT_GT(part.rows, 0);
      EXPECT_LE(s.computed + part.rows, s.length());
      EXPECT_EQ(part.outputs, s.computed + part.rows == s.length() ? 1 : 0);
      for (std::int64_t key = s.computed; key < s.computed + part.rows; ++key) {
        for (std::int32_t g = 0; g < pool_.cache().groups(); ++g) s.blocks.slot(g, key);
      }
      rows += part.rows;
    }
    ASSERT_LE(rows, limits_.rows);
    ASSERT_LE(std::ssize(parts), limits_.sequences);
    ASSERT_LE(scheduler_.running(), limits_.sequences);
  }

  void check_progress(std::span<const StepPart> parts,
                      const std::set<const Sequence*>& lacked_one) {
    std::set<const Sequence*> planned;
    for (const StepPart& part : parts) planned.insert(part.sequence);
    bool may_go_on = false;
    for (auto& [id, job] : alive_) {
      const Sequence* s = job.sequence.get();
      may_go_on = may_go_on || !s->paused;
      if (lacked_one.count(s) == 1 && s->admitted) {
        EXPECT_EQ(planned.count(s), 1u) << "sequence " << id << " lacks one row and gets none";
      }
    }
    ASSERT_EQ(parts.empty(), !may_go_on);
  }

  /// Whoever is let in for the first time has nobody before it who could have been let in.
  void check_order() {
    bool waits = false;
    for (auto& [id, job] : alive_) {
      const Sequence& s = *job.sequence;
      if (s.admitted && !job.was_admitted) {
        EXPECT_FALSE(waits) << "sequence " << id << " overtakes";
      }
      job.was_admitted = job.was_admitted || s.admitted;
      waits = waits || (!s.admitted && !s.paused);
    }
  }

  std::mt19937_64 rng_;
  std::int32_t window_;
  SchedulerLimits limits_;
  Pool pool_;
  Scheduler scheduler_;
  bool pauses_;
  std::map<std::uint64_t, Job> alive_;
};

TEST(Scheduler, KeepsItsPromisesForRandomWork) {
  std::int64_t preemptions = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    Simulation simulation(seed);
    simulation.run();
    if (HasFailure()) return;
    preemptions += simulation.preemptions();
  }
  EXPECT_GT(preemptions, 400) << "the pools were too large to test anything";
}

}  // namespace
}  // namespace ingot
