// Which kernel tables a machine is offered. The check at the start notices another order of sums.
#include "backend/cpu/table_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <string>
#include <vector>

#include "backend/cpu/panel.h"
#include "backend/op_test_util.h"
#include "base/text.h"

namespace ingot {
namespace {

TEST(TableCheck, EveryTableOfThisMachineMultipliesAsScalar) {
  for (const KernelTable* table : kernel_tables()) {
    EXPECT_TRUE(multiplies_as(*table, scalar_kernels())) << table->name;
  }
  EXPECT_TRUE(multiplies_as(scalar_tiles_kernels(), scalar_kernels()));
  EXPECT_EQ(kernel_warning(), nullptr);
}

/// Multiplies the rows of `a` with one chain a segment, in place of two chains a block.
void multiply_in_one_chain(const PanelArgs& a) {
  for (std::int64_t r = 0; r < a.rows; ++r) {
    for (int c = 0; c < a.columns; ++c) {
      const std::byte* panel = a.panel + c / kPanelCols * a.panel_bytes;
      std::vector<float> w(static_cast<std::size_t>(a.cols));
      unpack_column({BF16::kFormat, true}, panel, c % kPanelCols, a.cols, w.data());
      float total = 0;
      for (std::int64_t k = 0; k < a.cols; k += 1024) {
        float chain = 0;
        for (std::int64_t i = k; i < a.cols && i < k + 1024; ++i) {
          const float x = bfloat16_to_float(rounded_bfloat16(a.x.row<const float>(r)[i]));
          chain = std::fma(w[static_cast<std::size_t>(i)], x, chain);
        }
        total = k == 0 ? chain : total + chain;
      }
      a.out[r * a.out_stride + c] = total;
    }
  }
}

TEST(TableCheck, NoticesAnotherOrder) {
  KernelTable other = scalar_kernels();
  auto& kernel = other.linear[static_cast<std::size_t>(BF16::kFormat)];
  kernel.run = multiply_in_one_chain;
  EXPECT_FALSE(multiplies_as(other, scalar_kernels()));
}

/// Candidates whose tables differ in their names alone.
class Candidates {
 public:
  void add(const char* name, const TableCandidate& candidate) {
    KernelTable& table = tables_.emplace_back(scalar_kernels());
    table.name = name;
    candidates_.push_back(candidate);
    candidates_.back().table = &table;
  }
  /// The names of the chosen tables, each with a space behind it.
  std::string chosen(bool passes_check) {
    const ChosenTables all =
        choose_tables(candidates_, [&](const KernelTable&) { return passes_check; });
    warning = all.warning;
    std::string names;
    for (const KernelTable* table : all.tables) names += cat(table->name, " ");
    return names;
  }

  std::string warning;  ///< of the last `chosen`

 private:
  std::deque<KernelTable> tables_;
  std::vector<TableCandidate> candidates_;
};

TEST(ChooseTables, OrdersThoseThatRunBySpeed) {
  Candidates all;
  all.add("scalar", {.runs = true});
  all.add("absent", {.runs = false});
  all.add("vectors", {.runs = true});
  all.add("pairs", {.runs = true, .is_checked = true, .is_fastest = false});
  all.add("tiles", {.runs = true, .is_checked = true});
  EXPECT_EQ(all.chosen(true), "scalar pairs vectors tiles ");
  EXPECT_EQ(all.warning, "");
}

/// The loss of a slower table is none.
TEST(ChooseTables, WarnsOfFasterTablesThatComputeSomethingElse) {
  Candidates all;
  all.add("scalar", {.runs = true});
  all.add("vectors", {.runs = true});
  all.add("pairs", {.runs = true, .is_checked = true, .is_fastest = false});
  all.add("tiles", {.runs = true, .is_checked = true});
  EXPECT_EQ(all.chosen(false), "scalar vectors ");
  EXPECT_EQ(all.warning.find("the kernels tiles are not offered: "), 0U) << all.warning;
  EXPECT_EQ(all.warning.find("pairs"), std::string::npos) << all.warning;
}

}  // namespace
}  // namespace ingot
