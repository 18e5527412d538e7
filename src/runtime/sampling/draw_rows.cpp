// DrawRows: translates the parameters of choices into plain data.
#include "runtime/sampling/draw_rows.h"

#include <algorithm>

#include "base/check.h"
#include "base/index.h"

namespace ingot {

bool can_draw_on_device(const SampleRow& row) {
  const SamplingParams& p = *row.params;
  const bool has_history = p.repetition_penalty != 1 || p.presence_penalty != 0 ||
                           p.frequency_penalty != 0 || p.dry_multiplier != 0 || p.mirostat != 0 ||
                           !row.bad_words.empty();
  const bool has_filters = p.top_n_sigma > 0 || p.typical_p != 1 || p.xtc_probability != 0;
  return !has_history && !has_filters;
}

DrawRows::DrawRows(std::int64_t vocab, std::int64_t rows) : mask_words_((vocab + 31) / 32) {
  rows_.reserve(to_size(rows));
  needs_.reserve(to_size(rows));
  masks_.reserve(to_size(rows * mask_words_));
}

void DrawRows::clear() {
  rows_.clear();
  needs_.clear();
  biases_.clear();
  masks_.clear();
}

void DrawRows::add(const SampleRow& row) {
  DrawRow& draw = rows_.emplace_back();
  needs_.push_back(Need::kLogits);
  if (row.params == nullptr) return;
  const SamplingParams& p = *row.params;
  needs_.back() = p.logprobs >= 0 ? Need::kDrawAndLogits : Need::kDraw;
  INGOT_CHECK(can_draw_on_device(row), "a row that the host must draw");
  draw = {.temperature = p.temperature,
          .top_k = std::max(0, p.top_k),
          .top_p = p.top_p,
          .min_p = p.min_p,
          .seed = p.seed,
          .choice = p.choice,
          .index = row.index,
          .bias_first = static_cast<std::int32_t>(biases_.size()),
          .biases = static_cast<std::int32_t>(p.logit_bias.size()),
          .mask = add_mask(row)};
  biases_.insert(biases_.end(), p.logit_bias.begin(), p.logit_bias.end());
}

/// Adds the ids that the row allows. Returns the entry, or -1 if the row allows all ids.
std::int32_t DrawRows::add_mask(const SampleRow& row) {
  if (row.forced >= 0 || !row.mask.empty()) return add_allowed(row);
  const bool waits_for_end = row.index < static_cast<std::uint64_t>(row.params->min_tokens) &&
                             !row.params->end_ids.empty();
  if (row.allowed.empty() && !waits_for_end) return -1;
  const auto words = to_size(mask_words_);
  const std::size_t first = masks_.size();
  masks_.resize(first + words, row.allowed.empty() ? ~std::uint32_t{0} : 0);
  const std::span<std::uint32_t> mask = std::span(masks_).subspan(first);
  const auto bit = [](std::int32_t id) { return std::uint32_t{1} << (id % 32); };
  for (const std::int32_t id : row.allowed) at(mask, id / 32) |= bit(id);
  if (waits_for_end) {
    for (const std::int32_t id : row.params->end_ids) {
      if (id / 32 < mask_words_) at(mask, id / 32) &= ~bit(id);
    }
  }
  return static_cast<std::int32_t>(first / words);
}

/// Adds the ids that a constraint allows. Returns the entry.
std::int32_t DrawRows::add_allowed(const SampleRow& row) {
  const auto words = to_size(mask_words_);
  const std::size_t first = masks_.size();
  masks_.resize(first + words, 0);
  const std::span<std::uint32_t> mask = std::span(masks_).subspan(first);
  if (row.forced >= 0) {
    at(mask, row.forced / 32) = std::uint32_t{1} << (row.forced % 32);
  } else {
    std::copy_n(row.mask.begin(), std::min(words, row.mask.size()), mask.begin());
  }
  return static_cast<std::int32_t>(first / words);
}

}  // namespace ingot
