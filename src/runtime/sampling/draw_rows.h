// DrawRows: how a device draws a step's tokens, as plain data for Backend::logits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/ops.h"
#include "base/index.h"
#include "runtime/sampling/sampler.h"

namespace ingot {

/// Returns whether a device can draw a token from a row like this. It knows no history of a choice,
/// and only the filters top_k, top_p and min_p.
bool can_draw_on_device(const SampleRow& row);

/// The draws of a step, for LogitsReduce::draw.
class DrawRows {
 public:
  DrawRows() = default;
  /// Reserves memory for `rows` rows of `vocab` logits. Only biases may need more memory.
  DrawRows(std::int64_t vocab, std::int64_t rows);

  void clear();
  /// Adds the draw of the next row. If `row.params` is null, the host draws from the row.
  ///
  /// Errors: std::bad_alloc.
  void add(const SampleRow& row);

  std::span<const DrawRow> rows() const { return rows_; }
  std::span<const LogitBias> biases() const { return biases_; }
  std::span<const std::uint32_t> masks() const { return masks_; }
  /// Returns whether the host takes the device's draw from row `i`.
  bool has(std::int64_t i) const { return !rows_.empty() && at(needs_, i) != Need::kLogits; }
  /// Returns whether the host needs no logits of row `i`, but only the draw.
  bool is_complete(std::int64_t i) const { return !rows_.empty() && at(needs_, i) == Need::kDraw; }

 private:
  /// What the host needs of a row. kLogits: it draws itself, and the device draws in vain.
  enum class Need : std::uint8_t { kDraw, kDrawAndLogits, kLogits };

  std::int32_t add_mask(const SampleRow& row);
  std::int32_t add_allowed(const SampleRow& row);

  std::int64_t mask_words_ = 0;
  std::vector<DrawRow> rows_;
  std::vector<Need> needs_;
  std::vector<LogitBias> biases_;
  std::vector<std::uint32_t> masks_;  ///< [n, mask_words_]
};

}  // namespace ingot
