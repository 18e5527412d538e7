// TensorWork: converts one tensor's rows to the file's format, in parallel, and writes them in
// order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/first_error.h"
#include "base/function_ref.h"
#include "base/thread_pool.h"
#include "convert/quantise.h"
#include "load/checkpoint.h"

namespace ingot {

/// Sums of squared differences and of squared weights over rows.
struct Squares {
  double error = 0;
  double weight = 0;
  double counted_error = 0;
  double counted_weight = 0;

  void add(const Squares& other);
};

/// Converts one tensor's rows. All arguments of the constructor must outlive the object.
class TensorWork {
 public:
  TensorWork(const Checkpoint& checkpoint, const PlannedTensor& tensor, ThreadPool& pool);

  /// Encodes the rows, some at a time. Calls `write` with the bytes of each time, and `done` with
  /// their number of weights.
  ///
  /// Errors: model_error naming tensor and row for a weight that is not finite or too large for the
  ///         format; those of `write` and `done`.
  void run(FunctionRef<void(std::span<const std::byte>)> write,
           FunctionRef<void(std::int64_t weights)> done);
  /// Returns what `run` has written.
  TensorReport report() const;

 private:
  void encode_rows(std::int64_t first, std::int64_t count);
  Squares encode_row(std::int64_t row, int thread, std::byte* out);
  bool is_copied(std::int64_t row, Format from) const;
  void adjust(std::span<float> values) const;
  std::span<const float> importance_of(std::int64_t row) const;
  [[noreturn]] void fail(const FirstError& failure) const;

  const Checkpoint& checkpoint_;
  const PlannedTensor& tensor_;
  ThreadPool& pool_;
  std::int64_t rows_;
  std::int64_t cols_;
  std::int64_t out_bytes_;
  std::int64_t chunk_rows_ = 0;
  std::vector<std::byte> encoded_;
  std::vector<Squares> squares_;
  std::vector<float> scratch_;  ///< [threads, 2, cols]: a row, and its rounded values
  Squares total_;
};

}  // namespace ingot
