// Runs the workloads of a benchmark and computes their cost.
#include "bench/workload.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/index.h"
#include "base/philox.h"
#include "base/text.h"
#include "runtime/sampling/digest.h"
#include "runtime/schedule/clock.h"

namespace ingot {

namespace {

/// Rows of the largest step, and so of a chunk of a prefill.
constexpr std::int64_t kRows = 512;

std::int64_t whole_blocks(std::int64_t tokens) { return tokens / kBlockTokens * kBlockTokens; }
std::int64_t blocks_up(std::int64_t tokens) { return whole_blocks(tokens + kBlockTokens - 1); }

bool has_windows(const KvCache& cache) {
  for (std::int32_t g = 0; g < cache.groups(); ++g) {
    if (cache.group(g).window != 0) return true;
  }
  return false;
}

/// The deepest prefix and the number of sequences that have one.
struct Prefixes {
  std::int64_t depth = 0;
  std::int64_t count = 0;

  Prefixes(std::span<const Workload> workloads, bool shared) {
    for (const Workload& w : workloads) {
      if (w.depth == 0) continue;
      depth = std::max(depth, w.depth);
      count = std::max<std::int64_t>(count, shared ? 1 : w.batch);
    }
  }
};

}  // namespace

WorkloadLimits workload_limits(std::span<const Workload> workloads, bool shared_prefix) {
  WorkloadLimits limits;
  std::int64_t rows = 1;
  std::int64_t own = 0;  // tokens of the blocks that runs need besides the prefixes
  for (const Workload& w : workloads) {
    const bool chunks = w.kind != Workload::Kind::kDecode || w.depth > 0;
    limits.sequences = std::max(limits.sequences, w.batch);
    limits.longest = std::max(limits.longest, w.length());
    rows =
        std::max({rows, std::int64_t{w.batch}, chunks ? std::min(kRows, w.length() * w.batch) : 1});
    if (w.kind == Workload::Kind::kEmbed) rows = std::max(rows, w.tokens);
    own = std::max(own, (blocks_up(w.length()) - whole_blocks(w.depth)) * w.batch);
  }
  const Prefixes prefixes(workloads, shared_prefix);
  const std::int64_t all = own + prefixes.count * blocks_up(prefixes.depth);
  const std::int64_t sequences = std::max(1, limits.sequences);
  limits.rows = static_cast<std::int32_t>(rows);
  limits.context =
      std::max(blocks_up(limits.longest), blocks_up((all + sequences - 1) / sequences));
  return limits;
}

std::shared_ptr<const AdapterList> adapter_turn(const AdapterTurns& lists, std::int64_t i,
                                                std::int64_t sequences) {
  if (lists.empty()) return nullptr;
  const std::int64_t each = std::max<std::int64_t>(1, sequences / std::ssize(lists));
  return at(lists, i / each % std::ssize(lists));
}

WorkloadCost workload_cost(const Model& model, const KvCache& cache, const Peaks& peaks,
                           const Workload& workload, const AdapterTurns& adapters) {
  std::vector<KvCost> kv;
  for (std::int64_t i = 0; i < std::ssize(model.layers); ++i) {
    const KvLayer& layer = cache.layer(i);
    kv.push_back({.token_bytes = layer.block_bytes / kBlockTokens, .type = layer.type});
  }
  WorkloadCost total;
  const std::int64_t rows = workload.kind == Workload::Kind::kDecode ? 1 : workload.tokens;
  const std::int64_t outputs = workload.kind == Workload::Kind::kEmbed ? 0 : 1;
  std::vector<SequenceRows> parts(to_size(workload.batch));
  for (std::int64_t end = workload.depth + rows; end <= workload.length(); end += rows) {
    std::fill(parts.begin(), parts.end(),
              SequenceRows{.rows = rows, .kv_len = end, .outputs = outputs});
    for (std::size_t i = 0; i < parts.size() && !adapters.empty(); ++i) {
      const auto list = adapter_turn(adapters, static_cast<std::int64_t>(i), std::ssize(parts));
      if (list != nullptr) parts[i].adapters = list->uses;
    }
    const StepCost step = step_cost(model, kv, parts);
    total.cost += step;
    total.ideal_seconds += ideal_seconds(step, peaks);
  }
  return total;
}

struct WorkloadRunner::Run {
  bool embeds = false;  ///< whether each sequence runs in one step and gives a pooled result
  std::vector<Sequence> sequences;
  std::vector<std::unique_ptr<Digest>> digests;
  Digest all;
  double seconds = 0;
};

WorkloadRunner::WorkloadRunner(Executor& executor, bool shared_prefix,
                               std::function<void()> on_step, ProfiledBackend* profiled)
    : executor_(executor),
      shared_prefix_(shared_prefix),
      windowed_(has_windows(executor.cache())),
      on_step_(std::move(on_step)),
      profiled_(profiled) {
  const auto sequences = to_size(executor.limits().sequences);
  best_.resize(sequences);
  parts_.reserve(sequences);
}

std::int32_t workload_token(std::int64_t sequence, std::int64_t position, std::int64_t vocab) {
  const auto word = [](std::int64_t v) { return static_cast<std::uint32_t>(v); };
  const std::uint32_t random = philox4x32({word(position), word(sequence), 0, 0}, {0, 0})[0];
  return static_cast<std::int32_t>(random % word(vocab));
}

std::int32_t WorkloadRunner::token(std::int64_t sequence, std::int64_t position,
                                   std::int64_t depth) const {
  const std::int64_t source = shared_prefix_ && position < depth ? 0 : sequence;
  return workload_token(source, position, executor_.model().spec.vocab);
}

/// Makes a sequence with its tokens. It shares the blocks of its prefix, if they were computed.
Sequence WorkloadRunner::begin(const Workload& workload, std::int64_t sequence) const {
  Sequence s(executor_.cache());
  s.adapters = adapter_turn(adapters_, sequence, executor_.limits().sequences);
  for (std::int64_t i = 0; i < workload.depth; ++i) {
    s.tokens.push_back(token(sequence, i, workload.depth));
  }
  if (prefixes_.empty()) return s;
  const Sequence& prefix = prefixes_[shared_prefix_ ? 0 : to_size(sequence)];
  s.computed = whole_blocks(workload.depth);
  s.blocks.share(prefix.blocks, s.computed);
  return s;
}

/// Fills `parts_` with rows of run.sequences, starting at `next`, up to the limit of a step, and
/// moves `next` past the sequences that this step completes. Sequences to embed are not cut.
/// Returns the step's number of results: with `outputs`, one per completed sequence.
std::int64_t WorkloadRunner::fill_step(Run& run, std::size_t& next, bool outputs) {
  parts_.clear();
  std::int64_t room = executor_.limits().rows;
  std::int64_t out_rows = 0;
  for (; next < run.sequences.size() && room > 0; ++next) {
    Sequence& s = run.sequences[next];
    const std::int64_t left = s.length() - s.computed;
    if (left == 0) continue;
    const std::int64_t rows = std::min(left, room);
    if (run.embeds && rows < left) break;
    const bool gives = outputs && rows == left;
    parts_.push_back({.sequence = &s,
                      .rows = static_cast<std::int32_t>(rows),
                      .outputs = gives && !run.embeds ? 1 : 0,
                      .pooled = gives && run.embeds});
    if (rows < left) break;
    room -= rows;
    out_rows += gives ? 1 : 0;
  }
  return out_rows;
}

/// Adds the last step's `count` rows of logits to the digests. `first` is the sequence of row 0.
void WorkloadRunner::add_results(Run& run, std::size_t first, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::size_t sequence = first + to_size(i);
    best_[sequence] = executor_.best(i);
    run.all.add(executor_.logits(i));
    run.digests[sequence]->add(executor_.logits(i));
  }
}

/// Adds the pooled results of the last step's parts to the digests, and releases their blocks, as
/// the scheduler does after an encoder's step. `first` is the sequence of the first part.
void WorkloadRunner::add_pooled(Run& run, std::size_t first) {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const std::span<const float> result = executor_.pooled(static_cast<std::int64_t>(i));
    const bool finite =
        std::all_of(result.begin(), result.end(), [](float value) { return std::isfinite(value); });
    best_[first + i] = finite ? 0 : -1;
    run.all.add(result);
    run.digests[first + i]->add(result);
    parts_[i].sequence->blocks = SequenceBlocks(executor_.cache());
  }
}

/// Computes all tokens that are not computed yet. With `outputs`, each sequence has such tokens,
/// and gives logits and the most likely next token, or a pooled result.
void WorkloadRunner::close_gaps(Run& run, bool outputs) {
  for (std::size_t next = 0; next < run.sequences.size();) {
    on_step_();
    const std::size_t first = next;
    const std::int64_t out_rows = fill_step(run, next, outputs);
    if (parts_.empty()) return;
    const double start = steady_seconds();
    const bool ran = run_next(executor_, parts_);
    run.seconds += steady_seconds() - start;
    INGOT_CHECK(ran, "the KV pool is smaller than these workloads were planned with");
    for (const StepPart& part : parts_) part.sequence->forget();
    if (run.embeds) {
      add_pooled(run, first);
    } else {
      add_results(run, first, out_rows);
    }
  }
}

/// Appends the tokens of the next step: one token of a decode, or all tokens of another workload.
void WorkloadRunner::extend(Run& run, const Workload& workload, std::int64_t step) const {
  const bool decode = workload.kind == Workload::Kind::kDecode;
  for (std::size_t i = 0; i < run.sequences.size(); ++i) {
    auto& tokens = run.sequences[i].tokens;
    if (step > 0) {
      tokens.push_back(best_[i]);
      continue;
    }
    for (std::int64_t k = 0; k < (decode ? 1 : workload.tokens); ++k) {
      tokens.push_back(token(static_cast<std::int64_t>(i), workload.depth + k, workload.depth));
    }
  }
}

void WorkloadRunner::prepare(std::span<const Workload> workloads) {
  prefixes_.clear();
  // The system finds and clears memory at its first write. This must not count as a step's time.
  KvCache& cache = executor_.cache();
  for (std::int64_t i = 0; i < cache.layer_count(); ++i) {
    on_step_();
    cache.touch(i, std::numeric_limits<std::int64_t>::max());
  }
  if (windowed_) return;
  const Prefixes wanted(workloads, shared_prefix_);
  const Workload prefix{.depth = wanted.depth};
  Run run;
  for (std::int64_t i = 0; i < wanted.count; ++i) run.sequences.push_back(begin(prefix, i));
  close_gaps(run, false);
  for (Sequence& s : run.sequences) prefixes_.push_back(std::move(s));
}

bool WorkloadRunner::differs(const Workload& w, std::int64_t sequence, std::uint64_t digest) {
  const auto [known, added] = digests_.try_emplace({w.kind, w.tokens, w.depth, sequence}, digest);
  return known->second != digest;
}

WorkloadResult WorkloadRunner::run(const Workload& workload) {
  Run run;
  run.embeds = workload.kind == Workload::Kind::kEmbed;
  for (std::int64_t i = 0; i < workload.batch; ++i) {
    run.sequences.push_back(begin(workload, i));
    run.digests.push_back(std::make_unique<Digest>());
  }
  close_gaps(run, false);
  run.seconds = 0;
  if (profiled_ != nullptr) profiled_->clear();
  const std::int64_t steps = workload.kind == Workload::Kind::kDecode ? workload.tokens : 1;
  for (std::int64_t step = 0; step < steps; ++step) {
    extend(run, workload, step);
    close_gaps(run, true);
    const auto end = best_.begin() + workload.batch;
    if (std::find(best_.begin(), end, -1) == end) continue;
    throw Error(ErrorCode::kNotFinite,
                "the results hold NaN; `check_tensors` tells whether the file's weights do");
  }
  WorkloadResult result{.seconds = run.seconds, .digest = run.all.text()};
  if (profiled_ != nullptr) result.profile = profiled_->profile();
  for (std::size_t i = 0; i < run.digests.size(); ++i) {
    const Digest& digest = *run.digests[i];
    result.sequence_digests.push_back(digest.text());
    result.mismatch =
        differs(workload, static_cast<std::int64_t>(i), digest.value()) || result.mismatch;
  }
  return result;
}

}  // namespace ingot
