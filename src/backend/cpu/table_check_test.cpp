// Which kernel tables a machine is offered. The check at the start notices another order of sums.
#include "backend/cpu/table_check.h"

#include <gtest/gtest.h>

#include <cmath>
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

constexpr const char* kNames[] = {"scalar", "vectors", "pairs", "tiles"};

/// A table that differs from scalar_kernels() in its name alone.
template <int kName>
const KernelTable& named() {
  static const KernelTable kTable = [] {
    KernelTable table = scalar_kernels();
    table.name = kNames[kName];
    return table;
  }();
  return kTable;
}

/// On a real machine, this call may execute instructions that the machine lacks.
const KernelTable& absent() {
  ADD_FAILURE() << "asked for a table that does not run";
  return scalar_kernels();
}

constexpr TableCandidate kCandidates[] = {
    {.table = named<0>, .runs = true},
    {.table = absent, .runs = false},
    {.table = named<1>, .runs = true},
    {.table = absent, .runs = false, .is_checked = true},
    {.table = named<2>, .runs = true, .is_checked = true, .is_fastest = false},
    {.table = named<3>, .runs = true, .is_checked = true}};

std::string names_of(const ChosenTables& chosen) {
  std::string names;
  for (const KernelTable* table : chosen.tables) names += cat(table->name, " ");
  return names;
}

TEST(ChooseTables, OrdersThoseThatRunBySpeed) {
  const ChosenTables all = choose_tables(kCandidates, [](const KernelTable&) { return true; });
  EXPECT_EQ(names_of(all), "scalar pairs vectors tiles ");
  EXPECT_EQ(all.warning, "");
}

/// A slower table that fails needs no warning.
TEST(ChooseTables, WarnsOfFasterTablesThatComputeSomethingElse) {
  const ChosenTables all = choose_tables(kCandidates, [](const KernelTable&) { return false; });
  EXPECT_EQ(names_of(all), "scalar vectors ");
  EXPECT_EQ(all.warning.find("the kernels tiles are not offered: "), 0U) << all.warning;
  EXPECT_EQ(all.warning.find("pairs"), std::string::npos) << all.warning;
}

}  // namespace
}  // namespace ingot
