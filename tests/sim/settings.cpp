// Settings: draws chances and sizes from a seed.
#include "sim/settings.h"

#include <algorithm>

namespace ingot::sim {

namespace {

/// A chance up to `most` in half of the seeds, else 0.
double maybe(Random& random, double most) {
  return random.below(2) == 0 ? 0 : random.unit() * most;
}

std::int32_t one_of(Random& random, std::initializer_list<std::int32_t> values) {
  return values.begin()[random.below(std::ssize(values))];
}

void draw_machine(Settings& s, Random& random) {
  s.blocks = random.between(4, 24);
  const std::int32_t sequences = one_of(random, {1, 2, 3, 4, 6, 8});
  const std::int32_t rows = sequences + one_of(random, {0, 1, 3, 8, 20, 60, 200});
  s.limits = {.rows = rows,
              .out_rows = rows,
              .sequences = sequences,
              .context = s.blocks * kBlockTokens + random.between(-20, 20),
              .logits_rows = sequences,
              .ids = kVocab,
              .score_top = 0};
  if (random.below(3) == 0) {
    s.window = random.below(3) == 0 ? random.between(1, 4) : random.between(5, 60);
    const std::int64_t least =
        KvGroup{.layers = {}, .window = s.window, .block_bytes = 0}.blocks_for(
            std::int64_t{s.blocks} * kBlockTokens, rows);
    s.window_blocks = static_cast<std::int32_t>(least) + random.below(s.blocks);
  }
}

void draw_engine(Settings& s, Random& random) {
  EngineOptions& e = s.engine;
  e.waiting_max = static_cast<std::size_t>(random.between(0, 12));
  e.deltas_max = static_cast<std::size_t>(one_of(random, {1, 2, 3, 5, 16, 256}));
  e.stall_seconds = random.below(3) == 0 ? random.unit() * 2 : kNever;
  e.prefix_cache = random.below(5) != 0;
  e.prefix = {.secret = {random.next(), random.next()},
              .model = random.next(),
              .hash_bits = random.below(3) == 0 ? one_of(random, {1, 4, 8}) : 128};
  e.step_seconds = random.below(3) == 0 ? random.unit() * 0.1 : 0;
  e.preemptions_max = one_of(random, {0, 1, 2, 4, 4, 8});
  s.model.steps_ahead = random.between(1, 2);
  e.waiting.policy = random.below(2) == 0 ? Policy::kArrival : Policy::kPriority;
  e.waiting.ageing = random.unit() * 10;
  if (random.below(2) == 0) e.waiting.weights = {{1, 0.5}, {2, 3.0}};
  s.model.lazy = s.model.steps_ahead == 2 && random.below(2) == 0;
  s.sleeps = random.below(2) == 0;
}

void draw_faults(Settings& s, Random& random, std::int64_t ticks) {
  s.cancel = maybe(random, 0.1);
  s.drop = maybe(random, 0.1);
  s.stall = maybe(random, 0.3);
  s.resume = 0.02 + random.unit() * 0.3;
  s.jump = maybe(random, 0.02);
  s.flush = maybe(random, 0.05);
  s.refuse = random.below(4) == 0 ? random.unit() * 0.02 : 0;
  s.model.transient = maybe(random, 0.05);
  s.model.not_finite = random.below(4) == 0 ? random.unit() * 0.02 : 0;
  s.model.late = random.below(8) == 0 ? random.unit() * 0.02 : 0;
  s.model.step_seconds = maybe(random, 0.02);
  s.model.row_seconds = maybe(random, 0.002);
  s.model.slow = maybe(random, 0.02);
  s.truncate = random.unit() * 0.3;
  if (random.below(8) == 0) s.broken_at = random.below(ticks);
  if (random.below(8) == 0) s.drain_at = random.below(ticks);
  s.ending = static_cast<Ending>(random.below(4));
}

void draw_requests(Settings& s, Random& random) {
  s.alive_max = random.between(1, 12);
  s.arrival = 0.02 + random.unit() * 0.4;
  s.burst = maybe(random, 0.05);
  s.shared = maybe(random, 1.0);
  s.domains = maybe(random, 0.7);
  s.adapters = maybe(random, 0.7);
  s.tenants = maybe(random, 1.0);
  s.priorities = maybe(random, 1.0);
  s.choices = maybe(random, 0.4);
  s.large = maybe(random, 0.1);
  s.exact = maybe(random, 0.1);
  s.one_token = maybe(random, 0.3);
  s.end_first = maybe(random, 0.1);
  s.min_tokens = maybe(random, 0.3);
  s.scores = maybe(random, 0.3);
  s.hidden = maybe(random, 0.2);
  s.embeddings = maybe(random, 0.2);
  s.deadline = maybe(random, 0.2);
  s.uncached = maybe(random, 0.3);
  s.tokens_max = one_of(random, {4, 16, 40, 100, 250});
  s.letters = one_of(random, {1, 2, 31});
}

/// Draws stop strings from a separate stream, so that other settings do not change.
void draw_stops(Settings& s, Random random) {
  random = Random(random.next() ^ 1);
  s.stops = std::max(0.0, random.unit() * 1.5 - 1);
}

/// Draws which tokens the model draws, from a separate stream, so that other settings do not
/// change.
void draw_draws(Settings& s, Random random) {
  random = Random(random.next() ^ 3);
  s.model.draws = s.model.steps_ahead == 2 && random.below(4) != 0;
  s.host = maybe(random, 0.6);
}

/// Draws constraints and budgets of reasoning from a separate stream, so that other settings do not
/// change.
void draw_rules(Settings& s, Random random) {
  random = Random(random.next() ^ 5);
  s.constrained = maybe(random, 0.6);
  s.budgets = maybe(random, 0.3);
}

/// Draws live sequences and pooled results from a separate stream, so that other settings do not
/// change.
void draw_kinds(Settings& s, Random random) {
  random = Random(random.next() ^ 7);
  s.live = maybe(random, 0.6);
  s.pooled = maybe(random, 0.5);
  s.pools_whole = random.below(3) != 0;
}

/// Draws the rows for drafts, and drafts of some quality, from a separate stream, so that other
/// settings do not change.
void draw_drafts(Settings& s, Random random) {
  random = Random(random.next() ^ 9);
  if (random.below(4) == 0 || !s.backlogged.empty()) return;
  s.limits.draft_rows = std::min(one_of(random, {1, 2, 4, 12, 40}), s.limits.rows - 1);
  s.limits.logits_rows += s.limits.draft_rows;
  s.drafts = 0.2 + random.unit() * 0.8;
  s.right = random.below(4) == 0 ? 1 : maybe(random, 1.0);
  s.likelihood = random.unit();
  s.draft_seconds = maybe(random, 0.002);
  s.draft_failure = maybe(random, 0.02);
  s.has_drafter = random.below(4) != 0;
  s.choosy = maybe(random, 0.6);
  s.predicted = maybe(random, 0.3);
  s.engine.speculation.lookup = !s.has_drafter || random.below(4) == 0;
  s.engine.speculation.tokens = one_of(random, {0, 1, 3, 8, 100});
}

/// Draws a large machine from a separate stream, so that other seeds do not change. Long prompts
/// and many short ones share its steps. Only a few seeds have it, because its ticks take long.
void draw_crowd(Settings& s, Random random) {
  random = Random(random.next() ^ 2);
  if (random.below(64) != 0) return;
  s.limits.sequences = s.limits.logits_rows = one_of(random, {24, 80});
  s.limits.rows = s.limits.out_rows = 512;
  s.blocks = random.between(500, 1500);
  s.limits.context = std::int64_t{s.blocks} * kBlockTokens;
  s.window = s.window_blocks = 0;
  s.alive_max = s.limits.sequences + 8;
  s.crowd = 0.02 + random.unit() * 0.1;
  s.shared = 0.3;
}

void draw_backlog(Settings& s, Random& random) {
  s.rows_max = one_of(random, {8, 20, 40});
  s.blocks = s.limits.sequences * (s.rows_max / kBlockTokens + 2);
  s.window = s.window_blocks = 0;
  s.truncate = s.stall = s.live = s.pooled = 0;
  s.engine.waiting.weights.clear();
  for (std::int32_t n = random.between(2, 4); n > 0; --n) {
    const double weight = 0.25 * one_of(random, {1, 2, 4, 8, 16});
    s.engine.waiting.weights[s.backlogged.size()] = weight;
    s.backlogged.push_back(weight);
  }
}

}  // namespace

Settings draw_settings(Random& random, std::int64_t ticks) {
  Settings s;
  const int world = random.below(8);
  s.only_scheduler = world < 2;
  draw_machine(s, random);
  draw_engine(s, random);
  draw_faults(s, random, ticks);
  draw_requests(s, random);
  draw_kinds(s, random);
  if (world == 1) draw_backlog(s, random);
  draw_stops(s, random);
  draw_draws(s, random);
  draw_rules(s, random);
  if (world == 0) draw_crowd(s, random);
  draw_drafts(s, random);
  return s;
}

std::vector<KvGroup> fake_groups(const Settings& settings) {
  constexpr std::int64_t kBytes = kBlockTokens * std::int64_t{sizeof(std::uint64_t)};
  std::vector<KvGroup> groups{{.layers = {0}, .window = 0, .block_bytes = kBytes}};
  if (settings.window > 0) {
    groups.push_back({.layers = {1}, .window = settings.window, .block_bytes = kBytes});
  }
  return groups;
}

}  // namespace ingot::sim
