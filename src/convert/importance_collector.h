// ImportanceCollector: collects an importance matrix while a model runs.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "backend/observer.h"
#include "base/thread_pool.h"
#include "convert/importance.h"
#include "model/model.h"

namespace ingot {

/// Sums the squared inputs of each matrix of a model, by column.
///
/// Adds up each column in double precision, row after row. So the sums do not depend on the number
/// of threads. Tensors with a common input (q, k and v; gate and up) get equal sums.
class ImportanceCollector final : public LinearObserver {
 public:
  explicit ImportanceCollector(ThreadPool& pool) : pool_(pool) {}

  /// Starts to collect the inputs of `model`'s linear layers. `model` must outlive this object.
  void watch(const Model& model);
  void linear(View in, const Weight& weight) override;
  /// Adds input rows of the output head: hidden states after the final norm, [rows, hidden size].
  void head(View rows);

  /// Returns the sums of all tensors that got input rows: layer by layer, the output head last.
  std::vector<InputSums> sums() const;

 private:
  /// Where a Weight's sums are: an index into `inputs_`, and the number of an expert.
  struct Place {
    std::size_t input = 0;
    std::size_t expert = 0;
  };
  /// Tensors that have one common input, and the sums of this input.
  struct Input {
    std::vector<std::string> tensors;
    InputSums sums;
  };

  Place add_input(std::vector<std::string> tensors, std::int64_t cols, std::size_t experts = 1);
  void add_rows(View in, Place place);

  ThreadPool& pool_;
  std::vector<Input> inputs_;
  std::unordered_map<const Weight*, Place> places_;  ///< each weight's place; never iterated
  Place head_;
};

}  // namespace ingot
