// PanelWork: cuts a linear op into items for threads; an item is a row block times a few panels.
#pragma once

#include <cstdint>

#include "backend/cpu/kernel_table.h"
#include "backend/cpu/linear_input.h"
#include "backend/weight.h"
#include "base/view.h"

namespace ingot {

/// Computes out = in W^T + b with one kernel table, in items that threads run in any order.
///
/// Shapes: in [T, K], w [M, K], out [T, M]. A row block passes all panels before the next row block
/// starts. A row block fits in the second-level cache, or is larger if a kernel asks for more rows
/// (LinearKernel::panel_rows_bytes).
class PanelWork {
 public:
  /// Cuts the linear into items for `threads` threads. Shapes that do not match are a bug.
  PanelWork(const KernelTable& table, int threads, View in, const Weight& w, View out);

  std::int64_t items() const { return items_; }
  /// Runs one item. `rows` are the rows of `in` in other layouts that kernels read. `scratch`
  /// is the calling thread's memory, as large as the largest LinearKernel::scratch.
  void run(std::int64_t item, const LinearInput& rows, std::byte* scratch) const;
  /// Runs one item of a dense weight, and adds: out = fma(factor, in W^T, out). `sums` is the
  /// calling thread's memory of `sums_floats` floats.
  void add(std::int64_t item, float factor, std::byte* scratch, float* sums) const;
  /// Returns the floats of `sums` that `add` needs with a kernel table.
  static std::int64_t sums_floats(const KernelTable& table);

 private:
  PanelArgs args_of(std::int64_t item, const LinearInput& rows, std::byte* scratch,
                    const LinearKernel*& kernel) const;
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
  std::int64_t panels_limit_ = 0;  ///< largest number of panels in an item
  std::int64_t block_items_ = 0;
  std::int64_t items_ = 0;
};

}  // namespace ingot
