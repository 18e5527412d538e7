// AdapterRows: spreads the adapters of sequences over the rows of a step.
#include "backend/cpu/adapter_rows.h"

#include <algorithm>

#include "base/check.h"

namespace ingot {

void AdapterRows::reserve(std::int64_t rows, std::int64_t out_rows) {
  rows_.reserve(to_size(rows));
  outputs_.reserve(to_size(out_rows));
}

void AdapterRows::begin(const Batch& batch) {
  end();
  if (batch.adapters.empty() || batch.adapter.empty()) return;
  lists_ = batch.adapters;
  for (const std::span<const AdapterUse> list : lists_) {
    longest_ = std::max(longest_, std::ssize(list));
  }
  for (std::int64_t t = 0; t < batch.rows(); ++t) {
    const std::int32_t list = batch.adapter_of(t);
    INGOT_CHECK(list < std::ssize(lists_), "adapters ", list, " of ", lists_.size());
    rows_.push_back(list);
  }
  for (const std::int32_t row : batch.out_rows) outputs_.push_back(at(rows_, row));
}

void AdapterRows::begin_pooled(const Batch& batch) {
  if (empty()) return;
  rows_.clear();
  for (const std::int32_t s : batch.pool_seqs) {
    rows_.push_back(batch.adapter_of(at(batch.q_start, s + 1) - 1));
  }
}

void AdapterRows::end() {
  lists_ = {};
  rows_.clear();
  outputs_.clear();
  longest_ = 0;
}

bool AdapterRows::changes(const Weight& w) const {
  if (w.number < 0) return false;
  return std::any_of(lists_.begin(), lists_.end(), [&](std::span<const AdapterUse> list) {
    return std::any_of(list.begin(), list.end(),
                       [&](const AdapterUse& use) { return use.weights->find(w) != nullptr; });
  });
}

}  // namespace ingot
