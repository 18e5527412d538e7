// PanelWork: chooses the sizes of row blocks and items, and calls the linear kernels.
#include "backend/cpu/panel_work.h"

#include <algorithm>

#include "backend/cpu/panel.h"
#include "base/check.h"
#include "base/index.h"

namespace ingot {

namespace {

/// Rows, a multiple of the rows in a pass of every block kernel, so that no pass is short.
constexpr std::int64_t kRowStep = 48;

/// Rows whose sums `PanelWork::add` holds at once. More would leave the first-level cache.
constexpr std::int64_t kAddedRows = 48;

/// Number of rows in a row block. All blocks are equal, and their quantised rows take at most
/// `bytes`. The result is a multiple of kRowStep if `bytes` is large enough, else of `rows_min`.
std::int64_t rows_of_block(std::int64_t rows, std::int64_t cols, std::int64_t bytes,
                           std::int64_t rows_min) {
  const std::int64_t row_bytes = cols * 2;  // quantised; floats take twice as much
  const std::int64_t step = kRowStep * row_bytes <= bytes ? kRowStep : rows_min;
  const std::int64_t fitting = std::max(step, bytes / row_bytes / step * step);
  const std::int64_t blocks = std::max<std::int64_t>(1, (rows + fitting - 1) / fitting);
  return std::max(step, ((rows + blocks - 1) / blocks + step - 1) / step * step);
}

}  // namespace

PanelWork::PanelWork(const KernelTable& table, int threads, View in, const Weight& w, View out)
    : table_(&table), in_(in), weight_(&w), out_(out) {
  INGOT_CHECK(in.cols == w.cols && out.cols == w.rows && in.rows == out.rows, "linear [", in.rows,
              ", ", in.cols, "] x [", w.rows, ", ", w.cols, "] -> [", out.rows, ", ", out.cols,
              "]");
  cut_rows(threads);
  const bool has_tiles = table.reads_matrix || w.rounds_rows();
  INGOT_CHECK(block_rows_ % (has_tiles ? kMatrixRows : kTileRows) == 0, block_rows_,
              " rows of a block");
  for (const Segment& s : w.segments) block_items_ += items_of(s);
  items_ = (in.rows + block_rows_ - 1) / block_rows_ * block_items_;
}

void PanelWork::cut_rows(int threads) {
  // Smallest number of items for each thread. With fewer, threads wait long for the last item.
  constexpr std::int64_t kItemsOfThread = 4;
  // Bytes of a second-level cache. Larger row blocks leave the cache between panels; smaller row
  // blocks read the weights more often.
  constexpr std::int64_t kCacheBytes = 1 << 20;
  const std::int64_t panels = (weight_->rows + kPanelCols - 1) / kPanelCols;
  std::int64_t panel_rows_bytes = kernel_of(weight_->segments[0]).panel_rows_bytes;
  std::int64_t least_bytes = kCacheBytes;
  for (const Segment& s : weight_->segments) {
    // Few rows form a single block: a second block would read the weights again.
    if (in_.rows < kernel_of(s).many_rows) least_bytes = (in_.rows + kRowStep) * in_.cols * 2;
    panel_rows_bytes = std::min(panel_rows_bytes, kernel_of(s).panel_rows_bytes);
    panels_limit_ = std::max(panels_limit_, kernel_panels(s));
  }
  for (;; panels_limit_ /= 2) {
    const std::int64_t bytes =
        std::max({kCacheBytes, least_bytes, panels_limit_ * panel_rows_bytes});
    const bool has_tiles = table_->reads_matrix || weight_->rounds_rows();
    block_rows_ = rows_of_block(in_.rows, in_.cols, bytes, has_tiles ? 32 : 24);
    const std::int64_t blocks = (in_.rows + block_rows_ - 1) / block_rows_;
    if (panels_limit_ == 1 || blocks * panels / threads >= kItemsOfThread * panels_limit_) return;
  }
}

const LinearKernel& PanelWork::kernel_of(const Segment& s) const {
  const bool is_exact = s.format == BF16::kFormat && !s.rounds_rows;
  return is_exact ? table_->linear[kExactBf16] : at(table_->linear, s.format);
}

std::int64_t PanelWork::kernel_panels(const Segment& s) const {
  const LinearKernel& kernel = kernel_of(s);
  return in_.rows < kernel.many_rows ? kernel.few_panels : kernel.panels;
}

std::int64_t PanelWork::panels_of_item(const Segment& s) const {
  return std::min(kernel_panels(s), panels_limit_);
}

std::int64_t PanelWork::items_of(const Segment& s) const {
  const std::int64_t at_once = panels_of_item(s);
  return (s.units + at_once - 1) / at_once;
}

PanelArgs PanelWork::args_of(std::int64_t item, const LinearInput& rows, std::byte* scratch,
                             const LinearKernel*& kernel) const {
  const Weight& w = *weight_;
  const std::int64_t row = item / block_items_ * block_rows_;
  const View x = in_.slice(row, std::min(block_rows_, in_.rows - row));
  item %= block_items_;
  const Segment* s = w.segments.data();
  while (item >= items_of(*s)) item -= items_of(*s++);
  const std::int64_t at_once = panels_of_item(*s);
  const std::int64_t panel = item * at_once;
  const std::int64_t first = s->first_row + panel * kPanelCols;
  const std::int64_t left = s->rows - panel * kPanelCols;
  const LinearInput q = rows.groups == 0 ? rows : rows.from(row);
  const float* bias = w.bias ? w.bias.view.row<const float>(0) + first : nullptr;
  kernel = &kernel_of(*s);
  return {
      .panel = s->data + panel * s->unit_bytes,
      .panel_bytes = s->unit_bytes,
      .cols = w.cols,
      .rows = x.rows,
      .x = x,
      .q = q.q,
      .matrix = q.matrix,
      .rounded = q.rounded,
      .bias = bias,
      .out = out_.row<float>(row) + first,
      .out_stride = out_.row_bytes / std::int64_t{sizeof(float)},
      .columns = static_cast<int>(std::min<std::int64_t>(left, at_once * kPanelCols)),
      .scratch = scratch,
  };
}

void PanelWork::run(std::int64_t item, const LinearInput& rows, std::byte* scratch) const {
  const LinearKernel* kernel = nullptr;
  const PanelArgs args = args_of(item, rows, scratch, kernel);
  kernel->run(args);
}

void PanelWork::add(std::int64_t item, float factor, std::byte* scratch, float* sums) const {
  const LinearKernel* kernel = nullptr;
  const PanelArgs all = args_of(item, {}, scratch, kernel);
  for (std::int64_t first = 0; first < all.rows; first += kAddedRows) {
    PanelArgs args = all;
    args.rows = std::min(kAddedRows, all.rows - first);
    args.x = all.x.slice(first, args.rows);
    args.out = sums;
    args.out_stride = all.columns;
    kernel->run(args);
    for (std::int64_t i = 0; i < args.rows; ++i) {
      table_->add_scaled(factor, sums + i * all.columns, all.columns,
                         all.out + (first + i) * all.out_stride);
    }
  }
}

std::int64_t PanelWork::sums_floats(const KernelTable& table) {
  int panels = 1;
  for (const LinearKernel& kernel : table.linear) {
    panels = std::max({panels, kernel.panels, kernel.few_panels});
  }
  return kAddedRows * panels * kPanelCols;
}

}  // namespace ingot
