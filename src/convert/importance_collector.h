// Collecting an importance matrix while a model runs.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "backend/observer.h"
#include "base/thread_pool.h"
#include "convert/importance.h"
#include "model/model.h"

namespace ingot {

/// Adds up the squares of what goes into each matrix of a model.
///
/// Sums are double, one chain a column over rows in the order in which they come: for given rows
/// they do not depend on the number of threads. Tensors that share their input (q, k and v; gate
/// and up) get the same values.
class ImportanceCollector final : public LinearObserver {
 public:
  explicit ImportanceCollector(ThreadPool& pool) : pool_(pool) {}

  /// From here on the linears of `model` are known; it has to outlive this. Before, nothing is
  /// collected.
  void watch(const Model& model);
  void linear(View in, const Weight& weight) override;
  /// Rows that would go into the head: hidden states after the final norm, [T, H].
  void head(View rows);

  /// In the order of the layers, the head last; without tensors that no row reached.
  std::vector<InputSums> sums() const;

 private:
  /// Where the inputs of one Weight are added.
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
  std::unordered_map<const Weight*, Place> places_;  ///< looked up only, never walked through
  Place head_;
};

}  // namespace ingot
