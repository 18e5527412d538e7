// CpuBackend: the op linear, and the quantised or rounded rows that it reads.
#include <algorithm>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/panel_work.h"
#include "base/index.h"

namespace ingot {

bool CpuBackend::reads_input(const Weight& w) const {
  return w.has_blocks() || (w.rounds_rows() && w.cols % kGroup == 0);
}

LinearInput CpuBackend::layouts_of(const LinearInput& memory, std::int64_t groups) const {
  LinearInput in = memory.of_groups(groups);
  if (!has_block_weights_) in.q = nullptr;
  if (!has_block_weights_) in.matrix = nullptr;
  if (!has_rounded_rows_) in.rounded = nullptr;
  return in;
}

LinearInput CpuBackend::input_of(View rows) const {
  LinearInput in = layouts_of(scratch_.q, rows.cols / kGroup);
  // Experts get few rows each, too few for the matrix alone.
  const bool reads_matrix_alone = limits_.moe.experts == 0 && rows.rows >= matrix_rows_;
  if (in.matrix != nullptr && reads_matrix_alone) in.q = nullptr;
  if (rows.rows < at(table_.linear, BF16::kFormat).rounded_rows) in.rounded = nullptr;
  return in;
}

bool CpuBackend::has_whole_pieces(std::int64_t rows) const {
  return rows >= std::int64_t{2} * pool_.size() * rows_together();
}

void CpuBackend::quantise_rows(View rows,
                               FunctionRef<void(std::int64_t, std::int64_t, std::int64_t)> make) {
  if (rows.rows == 0) return;
  // Smallest number of groups in an item. Waking a thread for fewer costs more than it saves.
  constexpr std::int64_t kGroupsMin = 32;
  // Columns of a piece. A tile's columns of one piece fit in a first-level cache.
  constexpr std::int64_t kPieceCols = 16 * kGroup;
  const std::int64_t tiles = (rows.rows + rows_together() - 1) / rows_together();
  const std::int64_t groups = rows.cols / kGroup;
  const std::int64_t wanted = has_whole_pieces(rows.rows) ? 1 : 4 * pool_.size() / tiles;
  const std::int64_t most = std::min(rows.rows * groups / kGroupsMin, groups);
  const std::int64_t parts = std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(1, most));
  const std::int64_t part = (groups + parts - 1) / parts * kGroup;
  const LinearInput to = input_of(rows);
  pool_.parallel_for(tiles * parts, [&](std::int64_t item, int) {
    const std::int64_t first = item / parts * rows_together();
    const std::int64_t end = std::min<std::int64_t>(first + rows_together(), rows.rows);
    const std::int64_t end_col = std::min((item % parts + 1) * part, rows.cols);
    for (std::int64_t col = item % parts * part; col < end_col; col += kPieceCols) {
      const std::int64_t cols = std::min(kPieceCols, end_col - col);
      for (std::int64_t row = first; row < end; ++row) make(row, col, cols);
      to.write_rows(table_, columns(rows, col, cols).slice(first, end - first), first,
                    col / kGroup);
    }
  });
}

bool CpuBackend::keeps_quantised(View out, Next next) {
  quantised_ = {};
  if (next != Next::kLinears || out.cols % kGroup != 0 || !input_of(out)) return false;
  if (out.rows > scratch_.q_rows || out.cols > limits_.cols) return false;
  quantised_ = out;
  return true;
}

void CpuBackend::overwrites(View out) {
  if (!quantised_ || !out) return;
  const auto begin_of = [](View v) { return reinterpret_cast<std::uintptr_t>(v.data); };
  const auto end_of = [&](View v) {
    return begin_of(v) + static_cast<std::uintptr_t>(v.rows * v.row_bytes);
  };
  if (begin_of(out) < end_of(quantised_) && begin_of(quantised_) < end_of(out)) quantised_ = {};
}

LinearInput CpuBackend::quantised(View in) {
  if (quantised_ && in.cols == quantised_.cols && in.row_bytes == quantised_.row_bytes) {
    const auto bytes = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(in.data) -
                                                 reinterpret_cast<std::uintptr_t>(quantised_.data));
    const std::int64_t row = bytes / in.row_bytes;
    const LinearInput kept = input_of(quantised_);
    const bool is_enough = kept.q != nullptr || kept.matrix == nullptr || in.rows >= matrix_rows_;
    if (is_enough && bytes >= 0 && bytes % in.row_bytes == 0 && row % rows_together() == 0 &&
        row + in.rows <= quantised_.rows) {
      return kept.from(row);
    }
  }
  INGOT_CHECK(in.rows <= scratch_.q_rows && in.cols <= limits_.cols && in.cols % kGroup == 0,
              "quantise [", in.rows, ", ", in.cols, "], planned for [", scratch_.q_rows, ", ",
              limits_.cols, "]");
  const LinearInput input = input_of(in);
  if (!input) return {};
  quantised_ = {};
  quantise_rows(in, [](std::int64_t, std::int64_t, std::int64_t) {});
  return input;
}

std::byte* CpuBackend::linear_scratch(int thread) const {
  return scratch_.linear + thread * scratch_.linear_bytes;
}

void CpuBackend::linear(View in, const Weight& w, View out) {
  base_linear(in, w, out);
  add_adapters(in, w, out, adapters_.of_rows());
}

void CpuBackend::base_linear(View in, const Weight& w, View out) {
  if (observer_ != nullptr) observer_->linear(in, w);
  const LinearInput rows = reads_input(w) ? quantised(in) : LinearInput{};
  overwrites(out);
  const PanelWork work(table_, pool_.size(), in, w, out);
  pool_.parallel_for(work.items(), [&](std::int64_t item, int thread) {
    work.run(item, rows, linear_scratch(thread));
  });
}

LinearInput CpuBackend::quantised_heads(View in, std::int64_t heads, std::int64_t cols,
                                        std::int64_t stride) {
  INGOT_CHECK(in.rows <= scratch_.q_rows && heads * cols <= limits_.cols && cols % kGroup == 0,
              "quantise ", in.rows, " rows of ", heads, " heads of ", cols, ", planned for [",
              scratch_.q_rows, ", ", limits_.cols, "]");
  quantised_ = {};
  const LinearInput to = layouts_of(scratch_.q, cols / kGroup);
  const std::int64_t tiles = (in.rows + rows_together() - 1) / rows_together();
  pool_.parallel_for(heads * tiles, [&](std::int64_t item, int) {
    const std::int64_t h = item / tiles;
    const std::int64_t first = item % tiles * rows_together();
    const std::int64_t count = std::min<std::int64_t>(rows_together(), in.rows - first);
    to.write_rows(table_, columns(in, h * stride, cols).slice(first, count),
                  head_row(in, h) + first, 0);
  });
  return to;
}

void CpuBackend::linear_heads(View in, std::span<const Weight> w, std::int32_t extra, View out) {
  if (w.empty() || in.rows == 0) return;
  const std::int64_t heads = std::ssize(w);
  const std::int64_t cols = w.front().cols;
  const std::int64_t outputs = w.front().rows;
  const auto input = [&](std::int64_t h) { return columns(in, h * (cols + extra), cols); };
  const auto output = [&](std::int64_t h) { return columns(out, h * (outputs + extra), outputs); };
  for (std::int64_t h = 0; observer_ != nullptr && h < heads; ++h) {
    observer_->linear(input(h), at(w, h));
  }
  const bool reads =
      std::any_of(w.begin(), w.end(), [this](const Weight& x) { return reads_input(x); });
  const LinearInput q = reads ? quantised_heads(in, heads, cols, cols + extra) : LinearInput{};
  overwrites(out);
  const int threads = static_cast<int>((pool_.size() + heads - 1) / heads);
  const auto work_of = [&](std::int64_t h) {
    return PanelWork(table_, threads, input(h), at(w, h), output(h));
  };
  std::int64_t items = 0;  // the number of items of each head
  for (std::int64_t h = 0; h < heads; ++h) items = std::max(items, work_of(h).items());
  pool_.parallel_for(heads * items, [&](std::int64_t item, int thread) {
    const std::int64_t h = item / items;
    const PanelWork work = work_of(h);
    if (item % items >= work.items()) return;
    const LinearInput rows = reads_input(at(w, h)) ? q.from(head_row(in, h)) : LinearInput{};
    work.run(item % items, rows, linear_scratch(thread));
  });
  pool_.parallel_for(extra == 0 ? 0 : in.rows, [&](std::int64_t t, int) {
    for (std::int64_t h = 0; h < heads; ++h) {
      std::copy_n(in.row<const float>(t) + h * (cols + extra) + cols, extra,
                  out.row<float>(t) + h * (outputs + extra) + outputs);
    }
  });
}

}  // namespace ingot
