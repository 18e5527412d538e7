// AdapterRows: which adapters each row of a step has.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/batch.h"

namespace ingot {

/// The adapters of a step's rows and output rows. A list is an entry of Batch::adapters.
class AdapterRows {
 public:
  /// Allocates memory for steps with at most this number of rows and output rows.
  void reserve(std::int64_t rows, std::int64_t out_rows);
  /// Reads the batch of a step, whose arrays stay until `end`.
  void begin(const Batch& batch);
  void end();

  /// Returns whether no row of the step has adapters.
  bool empty() const { return lists_.empty(); }
  /// Returns the list of each row, and of each output row; -1: none. Without adapters, both are
  /// empty.
  std::span<const std::int32_t> of_rows() const { return rows_; }
  std::span<const std::int32_t> of_outputs() const { return outputs_; }
  /// Replaces the rows by the pooled rows of the batch: linears read these from now on.
  void begin_pooled(const Batch& batch);
  /// Returns the largest number of adapters of a row.
  std::int64_t longest() const { return longest_; }
  /// Returns adapter number `turn` of a list; null if there is none.
  const AdapterUse* use(std::int32_t list, std::int64_t turn) const {
    if (list < 0 || turn >= std::ssize(at(lists_, list))) return nullptr;
    return &at(at(lists_, list), turn);
  }
  /// Returns whether any adapter of the step changes the outputs of a weight.
  bool changes(const Weight& w) const;

 private:
  std::span<const std::span<const AdapterUse>> lists_;
  std::vector<std::int32_t> rows_;
  std::vector<std::int32_t> outputs_;
  std::int64_t longest_ = 0;
};

}  // namespace ingot
