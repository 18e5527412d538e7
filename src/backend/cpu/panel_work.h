// PanelWork: a linear cut into items, each a row block through a few panels of the weight.
#pragma once

#include <cstdint>

#include "backend/cpu/kernel_table.h"
#include "backend/cpu/linear_input.h"
#include "backend/weight.h"
#include "base/view.h"

namespace ingot {

/// out = in W^T + b with one kernel table, in items that threads run in any order.
///
/// Shapes: in [T, K], w [M, K], out [T, M]. A row block passes all panels before
/// the next one does. It is as large as the second cache, or larger where a kernel asks for it
/// (LinearKernel::panel_rows_bytes).
class PanelWork {
 public:
  /// Cuts items for `threads` threads. Shapes that do not match are a bug.
  PanelWork(const KernelTable& table, int threads, View in, const Weight& w, View out);

  std::int64_t items() const { return items_; }
  /// Runs an item. `rows` are the quantised rows of `in`, for weights with block formats; `scratch`
  /// is the calling thread's, as large as any LinearKernel::scratch of the table.
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
  std::int64_t panels_limit_ = 0;  ///< panels of an item at most
  std::int64_t block_items_ = 0;
  std::int64_t items_ = 0;
};

}  // namespace ingot
