// AttentionPlan: each row, query head and split is computed once, within the limits of kernels,
// counters and states.
#include "backend/cpu/attention_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "backend/cpu/kernel_table.h"
#include "base/index.h"
#include "base/text.h"

namespace ingot {
namespace {

/// Sequences of (rows, keys after the step).
struct Shape {
  std::vector<std::int32_t> q_start{0};
  std::vector<std::int32_t> kv_len;
  std::vector<std::int32_t> positions;

  void add(std::int32_t rows, std::int32_t keys) {
    q_start.push_back(q_start.back() + rows);
    kv_len.push_back(keys);
    positions.resize(static_cast<std::size_t>(q_start.back()));
  }
  Batch batch() const {
    return {.tokens = {},
            .embeddings = {},
            .types = {},
            .positions = positions,
            .q_start = q_start,
            .kv_len = kv_len,
            .groups = {},
            .out_rows = {},
            .pool_seqs = {},
            .adapter = {},
            .adapter_from = {},
            .adapters = {}};
  }
};

Shape one_sequence(std::int32_t rows, std::int32_t keys) {
  Shape shape;
  shape.add(rows, keys);
  return shape;
}

/// A plan for a shape, as a backend of `threads` threads makes it.
AttentionPlan plan_of(const Shape& shape, const Attention& a, int threads,
                      std::int64_t state_floats, int queries_max = kVectorQueries) {
  AttentionPlan plan(shape.q_start.back(), threads, state_floats);
  plan.cut(shape.batch(), a, queries_max);
  return plan;
}

/// Checks that items cover each (row, query head, split with a visible key) once.
void expect_covered(const AttentionPlan& plan, const Shape& shape, const Attention& a,
                    int queries_max) {
  const Batch b = shape.batch();
  std::map<std::tuple<std::int64_t, std::int64_t, std::int32_t>, int> times;
  for (std::int64_t i = 0; i < plan.items(); ++i) {
    const AttentionItem item = plan.item(i);
    const RowTile& rows = *item.rows;
    const HeadTile& heads = item.heads;
    ASSERT_LE((rows.end - rows.row) * heads.kv_heads * heads.heads, queries_max);
    for (std::int64_t t = rows.row; t < rows.end; ++t) {
      const KeyRange seen = keys_seen(b, a, rows.sequence, t);
      for (std::int32_t s = seen.first / kSplit; s * kSplit < seen.last; ++s) {
        if (rows.splits > 1 && s != rows.first_split + item.split) continue;
        for (std::int64_t h = 0; h < std::int64_t{heads.kv_heads} * heads.heads; ++h) {
          ++times[{t, heads.head + h, s}];
        }
      }
    }
  }
  for (std::int32_t s = 0; s < b.sequences(); ++s) {
    for (std::int64_t t = at(b.q_start, s); t < at(b.q_start, s + 1); ++t) {
      const KeyRange seen = keys_seen(b, a, s, t);
      for (std::int32_t split = seen.first / kSplit; split * kSplit < seen.last; ++split) {
        for (std::int64_t h = 0; h < a.heads; ++h) {
          ASSERT_EQ((times[{t, h, split}]), 1)
              << "row " << t << " head " << h << " split " << split;
        }
      }
    }
  }
}

/// Checks that counters and states of shared splits do not overlap and have room.
void expect_room(const AttentionPlan& plan, int threads, std::int64_t state_floats) {
  std::map<std::int64_t, std::int32_t> counters;
  plan.each_counter([&](std::int64_t counter, std::int32_t splits) {
    EXPECT_TRUE(counters.emplace(counter, splits).second) << counter;
  });
  EXPECT_EQ(std::ssize(counters), plan.counters());
  EXPECT_LE(plan.counters(), AttentionPlan::counters_max(threads));
  std::vector<std::pair<std::int64_t, std::int64_t>> states;
  for (std::int64_t i = 0; i < plan.items(); ++i) {
    const AttentionItem item = plan.item(i);
    const RowTile& rows = *item.rows;
    if (rows.splits == 1) continue;
    const auto counter = counters.find(rows.counter + item.head_tile);
    ASSERT_NE(counter, counters.end());
    EXPECT_EQ(counter->second, rows.splits);
    const std::int64_t first =
        rows.states + (item.head_tile * rows.splits + item.split) * rows.state_floats;
    states.emplace_back(first, first + rows.state_floats);
  }
  std::sort(states.begin(), states.end());
  for (std::size_t i = 0; i < states.size(); ++i) {
    const std::int64_t end = i + 1 < states.size() ? states[i + 1].first : state_floats;
    EXPECT_LE(states[i].second, end);
  }
}

TEST(AttentionPlan, CoversEveryRowHeadAndSplitOnce) {
  std::mt19937 random(7);
  const auto below = [&](std::uint32_t n) { return static_cast<std::int32_t>(random() % n); };
  for (int run = 0; run < 200; ++run) {
    Attention a{.kv_heads = 1 + below(4), .head_dim = 16 + 16 * below(4)};
    a.heads = a.kv_heads * (1 + below(run % 5 == 0 ? 30 : 8));
    a.causal = below(4) != 0;
    a.window = below(3) == 0 ? 1 + below(3000) : 0;
    const int threads = 1 + below(6);
    const std::int64_t state_floats = below(2) == 0 ? 1 << 16 : std::int64_t{threads} << 16;
    Shape shape;
    for (int s = 1 + below(5); s > 0; --s) {
      const std::int32_t rows = below(3) == 0 ? 1 + below(60) : 1;
      shape.add(rows, rows + below(below(2) == 0 ? 5000 : 100));
    }
    SCOPED_TRACE(cat("run ", run));
    const int queries_max = run % 2 == 0 ? kVectorQueries : kQueriesLimit;
    const AttentionPlan plan = plan_of(shape, a, threads, state_floats, queries_max);
    expect_covered(plan, shape, a, queries_max);
    expect_room(plan, threads, state_floats);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(AttentionPlan, TilesOfASequenceHaveSimilarRows) {
  const Attention a{.heads = 8, .kv_heads = 2, .head_dim = 64};
  const AttentionPlan plan = plan_of(one_sequence(20, 20), a, 1, 0);
  // Six rows of four query heads are the most that a kernel takes.
  std::vector<std::int64_t> rows;
  for (const RowTile& tile : plan.row_tiles()) rows.push_back(tile.end - tile.row);
  EXPECT_EQ(rows, (std::vector<std::int64_t>{5, 5, 5, 5}));
  EXPECT_EQ(plan.items(), 8);
  // Matrix tiles take eight rows: three row tiles of two head tiles.
  EXPECT_EQ(plan_of(one_sequence(20, 20), a, 1, 0, kQueriesLimit).items(), 6);
}

TEST(AttentionPlan, ThreadsShareALongSequence) {
  const Attention a{.heads = 32, .kv_heads = 8, .head_dim = 128};
  const Shape shape = one_sequence(1, 28000);
  const auto splits_of = [](const AttentionPlan& plan) { return plan.row_tiles()[0].splits; };
  const AttentionPlan shared = plan_of(shape, a, 2, 2 << 16);
  EXPECT_EQ(splits_of(shared), 28);
  EXPECT_GE(shared.items(), 4 * 2);
  EXPECT_EQ(splits_of(plan_of(shape, a, 1, 2 << 16)), 1);  // one thread has all of it
  EXPECT_EQ(splits_of(plan_of(shape, a, 2, 1 << 16)), 1);  // no room for the states
}

TEST(AttentionPlan, KeysSeenAreAnInterval) {
  const Shape shape = one_sequence(3, 10);
  const auto seen = [&](const Attention& a, std::int64_t row) {
    const KeyRange range = keys_seen(shape.batch(), a, 0, row);
    return std::pair(range.first, range.last);
  };
  const Attention causal{.heads = 1, .kv_heads = 1};
  EXPECT_EQ(seen(causal, 0), std::pair(0, 8));
  EXPECT_EQ(seen(causal, 2), std::pair(0, 10));
  const Attention window{.heads = 1, .kv_heads = 1, .window = 4};
  EXPECT_EQ(seen(window, 0), std::pair(4, 8));
  const Attention both{.heads = 1, .kv_heads = 1, .causal = false, .window = 2};
  EXPECT_EQ(seen(both, 0), std::pair(6, 9));
  EXPECT_EQ(seen(both, 2), std::pair(8, 10));
}

}  // namespace
}  // namespace ingot
