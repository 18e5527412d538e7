// PanelWork: a linear cut into items, each a block of rows through a few panels of the weight.
#pragma once

#include <cstdint>

#include "backend/cpu/kernel_table.h"
#include "backend/cpu/linear_input.h"
#include "backend/weight.h"
#include "base/view.h"

namespace ingot {

/// out = in W^T + b by one kernel table, in items that any threads run in any order.
///
/// Shapes: in [T, K], w [M, K], out [T, M]. All panels of a block of rows come before the next
/// block. A block is as large as the second cache, or larger where a kernel says so
/// (LinearKernel::panel_rows_bytes).
class PanelWork {
 public:
  /// Items for so many threads; of other shapes: a bug.
  PanelWork(const KernelTable& table, int threads, View in, const Weight& w, View out);

  std::int64_t items() const { return items_; }
  /// Item `item` of them. `rows`: those of `in`, for weights with block formats; `scratch`: the
  /// calling thread's, as large as any LinearKernel::scratch of the table.
  void run(std::int64_t item, const LinearInput& rows, std::byte* scratch) const;

 private:
  const LinearKernel& kernel_of(const Segment& s) const;
  std::int64_t panels_of_item(const Segment& s) const;
  std::int64_t kernel_panels(const Segment& s) const;
  void cut_rows(int threads);
  std::int64_t items_of(const Segment& s) const;

  const KernelTable* table_;
  View in_;
  const Weight* weight_;
  View out_;
  std::int64_t block_rows_ = 0;
  std::int64_t panels_limit_ = 0;  ///< of an item
  std::int64_t block_items_ = 0;
  std::int64_t items_ = 0;
};

}  // namespace ingot
