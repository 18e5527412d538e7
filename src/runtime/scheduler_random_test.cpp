// Scheduler: its promises at every step of random work: arrivals, readers, pools, conversations.
#include <map>
#include <random>
#include <set>

#include "base/text.h"
#include "runtime/scheduler_test_util.h"

namespace ingot {
namespace {

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
    check_kept();
  }
  std::int64_t preemptions() const { return scheduler_.preemptions(); }
  std::int64_t resumed() const { return resumed_; }

 private:
  struct Job {
    std::unique_ptr<Sequence> sequence;
    std::int64_t end = 0;  ///< its length when it is done
    bool was_admitted = false;
  };
  /// The blocks that each sequence that runs would give back, by group.
  using Places = std::map<const Sequence*, std::vector<std::int64_t>>;

  std::int32_t below(std::int32_t n) {
    return static_cast<std::int32_t>(rng_() % static_cast<std::uint64_t>(n));
  }
  SchedulerLimits random_limits() {
    const std::int32_t sequences = 1 + below(6);
    return {.rows = sequences + below(30),
            .sequences = sequences,
            .kept = static_cast<std::size_t>(below(4))};
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
    job.sequence->conversation = static_cast<std::uint64_t>(below(4));
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
      end(*alive_.begin()->second.sequence);
      alive_.erase(alive_.begin());
    }
  }

  void end(Sequence& s) {
    resumed_ += s.cached > 0 ? 1 : 0;
    if (below(4) == 0) return scheduler_.remove(s);
    scheduler_.retire(s);
  }

  void check_kept() {
    for (std::int32_t g = 0; g < pool_.cache().groups(); ++g) {
      const BlockPool& pool = pool_.cache().pool(g);
      EXPECT_EQ(pool.total() - pool.free(), scheduler_.kept(g));
      pool.check();
    }
  }

  void one_step() {
    std::set<const Sequence*> lacked_one;
    for (auto& [id, job] : alive_) {
      const Sequence& s = *job.sequence;
      if (s.admitted && !s.paused && s.length() - s.computed == 1) lacked_one.insert(&s);
    }
    const Places before = places();
    const std::int64_t preemptions = scheduler_.preemptions();
    const auto parts = scheduler_.plan();
    check_bounds(parts);
    check_progress(parts, lacked_one);
    if (scheduler_.preemptions() == preemptions + 1) check_room(before);
    check_order();
    scheduler_.commit(drawn_for(parts));
    for (auto at = alive_.begin(); at != alive_.end();) {
      Sequence& s = *at->second.sequence;
      ASSERT_LE(s.length(), at->second.end);
      if (s.length() < at->second.end) {
        ++at;
        continue;
      }
      end(s);
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

  Places places() {
    Places all;
    for (auto& [id, job] : alive_) {
      const Sequence& s = *job.sequence;
      if (!s.admitted) continue;
      for (std::int32_t g = 0; g < pool_.cache().groups(); ++g) {
        all[&s].push_back(s.blocks.releasable(g));
      }
    }
    return all;
  }

  /// Where one sequence gave way and it was paused, somebody was let in, or took of its blocks.
  void check_room(const Places& before) {
    const auto gone = std::find_if(before.begin(), before.end(),
                                   [](const auto& place) { return !place.first->admitted; });
    if (gone == before.end() || !gone->first->paused) return;
    bool needed = false;
    for (auto& [id, job] : alive_) {
      const Sequence* s = job.sequence.get();
      needed = needed || (s->admitted && before.count(s) == 0);
    }
    for (std::int32_t g = 0; g < pool_.cache().groups(); ++g) {
      const std::int64_t blocks = gone->second[static_cast<std::size_t>(g)];
      needed = needed || pool_.cache().pool(g).free() < blocks;
    }
    EXPECT_TRUE(needed) << "sequence " << gone->first->id << " gave way to nobody";
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
  std::int64_t resumed_ = 0;
  std::map<std::uint64_t, Job> alive_;
};

TEST(Scheduler, KeepsItsPromisesForRandomWork) {
  std::int64_t preemptions = 0, resumed = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    Simulation simulation(seed);
    simulation.run();
    if (HasFailure()) return;
    preemptions += simulation.preemptions();
    resumed += simulation.resumed();
  }
  EXPECT_GT(preemptions, 400) << "the pools were too large to test anything";
  EXPECT_GT(resumed, 100) << "no conversation went on";
}

}  // namespace
}  // namespace ingot
