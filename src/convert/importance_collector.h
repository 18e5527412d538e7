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

/// Adds up the squares of the inputs of each matrix of a model.
///
/// A sum is a chain of doubles for each column, over the rows in their order, so it does not depend
/// on the number of threads. Tensors that share their input (q, k and v; gate and up) get equal
/// values.
class ImportanceCollector final : public LinearObserver {
 public:
  explicit ImportanceCollector(ThreadPool& pool) : pool_(pool) {}

  /// Starts to collect for the linears of `model`, which must outlive this.
  void watch(const Model& model);
  void linear(View in, const Weight& weight) override;
  /// Adds input rows of the output head: hidden states after the final norm, [T, H].
  void head(View rows);

  /// The sums in the order of the layers, the output head last. Tensors without rows are left out.
  std::vector<InputSums> sums() const;

 private:
  /// The sums of one Weight's inputs.
  struct Place {
    std::size_t input = 0;
    std::size_t expert = 0;
  };
  /// The common input of some tensors.
  struct Input {
    std::vector<std::string> tensors;
    InputSums sums;
  };

  Place add_input(std::vector<std::string> tensors, std::int64_t cols, std::size_t experts = 1);
  void add_rows(View in, Place place);

  ThreadPool& pool_;
  std::vector<Input> inputs_;
  std::unordered_map<const Weight*, Place> places_;  ///< only looked up: its order is not fixed
  Place head_;
};

}  // namespace ingot
