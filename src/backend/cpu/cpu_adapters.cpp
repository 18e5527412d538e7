// CpuBackend: adds what adapters add to linears and embeddings. The panels of all runs of a linear
// are one list of items, so that threads seldom wait for each other.
#include <algorithm>
#include <utility>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/panel.h"
#include "base/index.h"

namespace ingot {

void CpuBackend::add_adapters(View in, const Weight& w, View out,
                              std::span<const std::int32_t> lists) {
  if (!adapters_.changes(w)) return;
  INGOT_CHECK(std::ssize(lists) == in.rows, in.rows, " rows, ", lists.size(), " with adapters");
  for (std::int64_t turn = 0; turn < adapters_.longest(); ++turn) {
    append_runs(in, w, out, lists, turn);
    run_adapters(nullptr);
  }
}

void CpuBackend::add_expert_adapters(const ExpertWave& wave, WaveRows in, std::span<const Weight> w,
                                     WaveRows out) {
  for (std::int64_t turn = 0; turn < adapters_.longest(); ++turn) {
    for (std::int32_t e = wave.expert; e < wave.end_expert; ++e) {
      const ExpertRows& rows = experts_.rows_of(e);
      if (rows.count == 0 || !adapters_.changes(at(w, e))) continue;
      append_runs(in.of(rows), at(w, e), out.of(rows),
                  scratch_.routed_lists.subspan(to_size(rows.first), to_size(rows.count)), turn);
    }
    run_adapters(nullptr);
  }
}

void CpuBackend::add_embedding_adapters(const Batch& batch, const Embedding& e, View x) {
  if (e.tokens == nullptr) return;
  const auto used_at = [&](std::int64_t t, std::int64_t turn) -> const AdapterUse* {
    const AdapterUse* use = adapters_.use(at(adapters_.of_rows(), t), turn);
    if (use == nullptr || use->weights->find_embedding(*e.tokens) == nullptr) return nullptr;
    return batch.embedding(t) == nullptr ? use : nullptr;
  };
  for (std::int64_t turn = 0; turn < adapters_.longest(); ++turn) {
    for (std::int64_t first = 0, end = 0; first < x.rows; first = end) {
      const AdapterUse* use = used_at(first, turn);
      for (end = first + 1; end < x.rows && used_at(end, turn) == use;) ++end;
      if (use == nullptr) continue;
      const AdapterEmbedding& change = use->weights->embedding;
      append_run({.in = {},
                  .out = x.slice(first, end - first),
                  .a = &change.a,
                  .parts = {&change.part, 1},
                  .scale = use->scale,
                  .factor = e.scale,
                  .first_row = first});
    }
    run_adapters(&batch);
  }
}

void CpuBackend::append_runs(View in, const Weight& w, View out,
                             std::span<const std::int32_t> lists, std::int64_t turn) {
  for (std::int64_t first = 0, end = 0; first < in.rows; first = end) {
    const std::int32_t list = at(lists, first);
    for (end = first + 1; end < in.rows && at(lists, end) == list;) ++end;
    const AdapterUse* use = adapters_.use(list, turn);
    const AdapterLinear* change = use == nullptr ? nullptr : use->weights->find(w);
    if (change == nullptr) continue;
    append_run({.in = in.slice(first, end - first),
                .out = out.slice(first, end - first),
                .a = &change->a,
                .parts = change->parts,
                .scale = use->scale});
  }
}

void CpuBackend::append_run(const AdapterRun& run) {
  const std::int64_t ranks = run.in ? run.a->rows : run.a->cols;
  const std::int64_t most = kAdapterFloats / ranks;
  INGOT_CHECK(most > 0, "adapter of ", ranks, " rows");
  for (std::int64_t first = 0; first < run.out.rows; first += most) {
    const std::int64_t count = std::min(most, run.out.rows - first);
    AdapterRun& piece = adapter_runs_.emplace_back(run);
    piece.out = run.out.slice(first, count);
    if (run.in) piece.in = run.in.slice(first, count);
    piece.first_row = run.first_row + first;
    piece.u = f32_view(nullptr, count, ranks);
  }
}

void CpuBackend::run_adapters(const Batch* batch) {
  const std::span<AdapterRun> runs = adapter_runs_;
  for (std::size_t first = 0, end = 0; first < runs.size(); first = end) {
    std::int64_t used = 0;
    for (end = first; end < runs.size(); ++end) {
      View& u = runs[end].u;
      if (used + u.rows * u.cols > kAdapterFloats) break;
      u = f32_view(scratch_.adapter_u + used, u.rows, u.cols);
      used += u.rows * u.cols;
    }
    run_adapters(runs.subspan(first, end - first), batch);
  }
  adapter_runs_.clear();
}

void CpuBackend::run_adapters(std::span<const AdapterRun> runs, const Batch* batch) {
  const int threads = static_cast<int>((pool_.size() + std::ssize(runs) - 1) / std::ssize(runs));
  adapter_work_.clear();
  for (const AdapterRun& run : runs) {
    if (run.in) add_adapter_work({.panels = PanelWork(table_, threads, run.in, *run.a, run.u)});
    for (std::int64_t i = 0; !run.in && i < run.u.rows; ++i) {
      unpack_row(*run.a, at(batch->tokens, run.first_row + i), run.u.row<float>(i));
    }
  }
  run_adapter_work([&](const AdapterWork& work, std::int64_t item, int thread) {
    work.panels.run(item, {}, linear_scratch(thread));
  });
  adapter_work_.clear();
  for (const AdapterRun& run : runs) {
    for (const AdapterPart& part : run.parts) {
      const View u = columns(run.u, part.first_rank, part.b.cols);
      const View out = columns(run.out, part.first_row, part.b.rows);
      add_adapter_work({.panels = PanelWork(table_, threads, u, part.b, out),
                        .scale = part.scale * run.scale * run.factor});
    }
  }
  run_adapter_work([&](const AdapterWork& work, std::int64_t item, int thread) {
    work.panels.add(item, work.scale, linear_scratch(thread),
                    scratch_.sums + thread * scratch_.sums_floats);
  });
}

void CpuBackend::add_adapter_work(AdapterWork work) {
  work.first_item = adapter_items_;
  adapter_items_ += work.panels.items();
  adapter_work_.push_back(work);
}

void CpuBackend::run_adapter_work(
    FunctionRef<void(const AdapterWork&, std::int64_t item, int thread)> run) {
  pool_.parallel_for(std::exchange(adapter_items_, 0), [&](std::int64_t item, int thread) {
    const auto after = std::upper_bound(
        adapter_work_.begin(), adapter_work_.end(), item,
        [](std::int64_t i, const AdapterWork& work) { return i < work.first_item; });
    const AdapterWork& work = *(after - 1);
    run(work, item - work.first_item, thread);
  });
}

}  // namespace ingot
