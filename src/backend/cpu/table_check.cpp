// multiplies_as multiplies random numbers with two kernel tables, and compares the bits.
#include "backend/cpu/table_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "backend/buffer.h"
#include "backend/cpu/panel.h"
#include "base/fp_env.h"
#include "base/half.h"
#include "base/index.h"
#include "base/text.h"

namespace ingot {

namespace {

constexpr std::int64_t kRows = 39;
constexpr std::int64_t kOutputs = 3 * kPanelCols;
constexpr std::int64_t kInputs = 1056;  // two segments

/// Numbers whose sums round: of both signs, and of magnitudes from 2^-50 to 2^13.
class Numbers {
 public:
  float next() {
    const auto bits = static_cast<std::uint32_t>(random_());
    const float fraction = 1 + static_cast<float>(bits & 0xFFFFFF) * 0x1p-24f;
    const int exponent = static_cast<int>(bits >> 24 & 63);
    const bool is_small = (bits >> 31) != 0;
    return std::ldexp(exponent % 2 == 0 ? fraction : -fraction, is_small ? exponent - 50 : 0);
  }

 private:
  std::mt19937 random_{1};
};

/// Rows and a matrix of three panels.
struct Product {
  std::vector<float> x = std::vector<float>(to_size(kRows * kInputs));
  Buffer panels = allocate_host(kOutputs / kPanelCols * PairPanel::bytes(kInputs));
  Buffer rounded = allocate_host((kRows + kMatrixRows - 1) / kMatrixRows * (kInputs / kGroup) *
                                 std::int64_t{sizeof(RoundedTile)});

  explicit Product(const KernelTable& judge) {
    Numbers numbers;
    for (float& v : x) v = numbers.next();
    std::vector<std::uint16_t> weights(to_size(kOutputs * kInputs));
    for (std::uint16_t& w : weights) w = float_to_bfloat16(numbers.next());
    const View view{reinterpret_cast<std::byte*>(weights.data()), BF16::kFormat, kOutputs, kInputs,
                    2 * kInputs};
    for (std::int64_t first = 0; first < kOutputs; first += kPanelCols) {
      const std::int64_t offset = first / kPanelCols * PairPanel::bytes(kInputs);
      pack_panel(view, first, true, panels.data() + offset);
    }
    auto* tiles = reinterpret_cast<RoundedTile*>(rounded.data());
    for (std::int64_t r = 0; r < kRows; ++r) {
      for (std::int64_t k = 0; k < kInputs; k += kGroup) {
        RoundedTile& tile = tiles[r / kMatrixRows * (kInputs / kGroup) + k / kGroup];
        judge.round(x.data() + r * kInputs + k, kGroup, tile.x[r % kMatrixRows]);
      }
    }
  }

  std::vector<float> multiply(const KernelTable& table) {
    const LinearKernel& kernel = at(table.linear, BF16::kFormat);
    const Buffer scratch = allocate_host(std::max<std::int64_t>(64, kernel.scratch));
    std::vector<float> out(to_size(kRows * kOutputs));
    kernel.run({.panel = panels.data(),
                .panel_bytes = PairPanel::bytes(kInputs),
                .cols = kInputs,
                .rows = kRows,
                .x = f32_view(x.data(), kRows, kInputs),
                .rounded = reinterpret_cast<const RoundedTile*>(rounded.data()),
                .out = out.data(),
                .out_stride = kOutputs,
                .columns = static_cast<int>(kOutputs),
                .scratch = scratch.data()});
    return out;
  }
};

}  // namespace

bool multiplies_as(const KernelTable& table, const KernelTable& judge) {
  const CanonicalFp canonical;
  Product product(judge);
  const std::vector<float> want = product.multiply(judge);
  const std::vector<float> got = product.multiply(table);
  return std::memcmp(got.data(), want.data(), got.size() * sizeof(float)) == 0;
}

ChosenTables choose_tables(std::span<const TableCandidate> candidates,
                           FunctionRef<bool(const KernelTable&)> passes_check) {
  ChosenTables chosen;
  for (const TableCandidate& candidate : candidates) {
    if (!candidate.runs) continue;
    const KernelTable& table = candidate.table();
    if (!candidate.is_checked || passes_check(table)) {
      auto& tables = chosen.tables;
      tables.insert(candidate.is_fastest ? tables.end() : tables.end() - 1, &table);
    } else if (candidate.is_fastest) {
      chosen.warning += cat(chosen.warning.empty() ? "" : "; ", "the kernels ", table.name,
                            " are not offered: on this processor, sums of bfloat16 products have "
                            "other bits than on other machines");
    }
  }
  return chosen;
}

}  // namespace ingot
