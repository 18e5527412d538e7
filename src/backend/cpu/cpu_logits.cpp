// CpuBackend: the op logits, which runs the output head and reduces its rows.
#include <algorithm>

#include "backend/cpu/cpu_backend.h"
#include "base/index.h"
#include "base/math.h"

namespace ingot {

namespace {

/// Writes the best tokens of a row to `top`, best first, ties to the lower id.
void best_tokens(const float* x, std::int64_t n, std::span<TokenScore> top) {
  if (top.empty()) return;
  std::size_t filled = 0;
  for (std::int64_t id = 0; id < n; ++id) {
    if (filled == top.size() && !(x[id] > top.back().logprob)) continue;
    std::size_t at = filled < top.size() ? filled++ : filled - 1;
    for (; at > 0 && x[id] > top[at - 1].logprob; --at) top[at] = top[at - 1];
    top[at] = {.id = static_cast<std::int32_t>(id), .logprob = x[id]};
  }
}

}  // namespace

void CpuBackend::reduce_rows(View rows, std::int64_t first, const LogitsReduce& reduce) {
  pool_.parallel_for(rows.rows, [&](std::int64_t i, int) {
    const float* x = rows.row<const float>(i);
    const auto r = to_size(first + i);
    if (!reduce.argmax.empty()) reduce.argmax[r] = table_.argmax(x, rows.cols);
    if (reduce.ids_per_row == 0 && reduce.top_k == 0) return;
    float largest = 0;
    float sum = 0;
    table_.log_sum(x, rows.cols, &largest, &sum);
    const float log_sum = math::log(sum);
    const auto ids = to_size(reduce.ids_per_row);
    for (std::size_t k = r * ids; k < (r + 1) * ids; ++k) {
      INGOT_CHECK(reduce.ids[k] >= 0 && reduce.ids[k] < rows.cols, "token ", reduce.ids[k], " of ",
                  rows.cols);
      reduce.id_logprobs[k] = (x[reduce.ids[k]] - largest) - log_sum;
    }
    const auto top_k = to_size(reduce.top_k);
    const std::span<TokenScore> top = reduce.top.subspan(r * top_k, top_k);
    const std::int64_t ranked = reduce.ranked == 0 ? rows.cols : reduce.ranked;
    INGOT_CHECK(ranked <= rows.cols && reduce.top_k <= ranked, "the best ", reduce.top_k, " of ",
                ranked, ", V ", rows.cols);
    best_tokens(x, ranked, top);
    for (TokenScore& score : top) score.logprob = (score.logprob - largest) - log_sum;
  });
}

void CpuBackend::head_rows(View in, std::int64_t first, const Head& head, View out) {
  base_linear(in, *head.weight, out);
  if (!adapters_.empty()) {
    add_adapters(in, *head.weight, out,
                 adapters_.of_outputs().subspan(to_size(first), to_size(in.rows)));
  }
  if (head.scale == 1 && head.cap == 0) return;
  // Columns of an item: enough for a call, and few enough that threads share a single row.
  constexpr std::int64_t kPieceCols = 4096;
  const std::int64_t pieces = (out.cols + kPieceCols - 1) / kPieceCols;
  pool_.parallel_for(out.rows * pieces, [&](std::int64_t item, int) {
    const std::int64_t first = item % pieces * kPieceCols;
    const std::int64_t count = std::min(kPieceCols, out.cols - first);
    float* x = out.row<float>(item / pieces) + first;
    table_.scale(x, head.scale, count);
    if (head.cap != 0) table_.cap(x, head.cap, count);
  });
}

void CpuBackend::logits(View in, const Head& head, const LogitsReduce& reduce) {
  const std::int64_t whole = reduce.full ? reduce.full.rows : 0;
  INGOT_CHECK(whole <= in.rows, whole, " rows kept whole of ", in.rows);
  if (whole > 0) {
    head_rows(in.slice(0, whole), 0, head, reduce.full);
    reduce_rows(reduce.full, 0, reduce);
  }
  const View tile = scratch_.head_rows;
  INGOT_CHECK(in.rows == whole || (tile.rows > 0 && head.weight->rows == tile.cols), "head of ",
              head.weight->rows, " rows, planned for ", tile.cols);
  for (std::int64_t first = whole; first < in.rows; first += tile.rows) {
    const std::int64_t count = std::min(tile.rows, in.rows - first);
    const View rows = tile.slice(0, count);
    head_rows(in.slice(first, count), first, head, rows);
    reduce_rows(rows, first, reduce);
  }
}

}  // namespace ingot
