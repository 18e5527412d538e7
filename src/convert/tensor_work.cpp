// TensorWork: decodes, changes, rounds and compares rows.
#include "convert/tensor_work.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "quant/encode.h"
#include "quant/formats.h"

namespace ingot {

namespace {

/// Weights per thread in a parallel loop: 1 MiB of floats, little memory beside any model, and work
/// enough to hide the loop's cost.
constexpr std::int64_t kWeightsPerThread = 1 << 18;

Squares compare(std::span<const float> x, std::span<const float> y,
                std::span<const float> importance) {
  Squares s;
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double error = (static_cast<double>(x[k]) - y[k]) * (static_cast<double>(x[k]) - y[k]);
    const double weight = static_cast<double>(x[k]) * x[k];
    s.error += error;
    s.weight += weight;
    if (importance.empty()) continue;
    s.counted_error += importance[k] * error;
    s.counted_weight += importance[k] * weight;
  }
  return s;
}

double relative(double error, double weight) { return weight > 0 ? std::sqrt(error / weight) : 0; }

/// The type of the checkpoint's weights. Bytes with scales have a type of their own.
std::string type_of(const ListedTensor& tensor) {
  if (tensor.parts.empty()) return {};
  const BoundPart& part = tensor.parts.front();
  return part.scales == nullptr ? part.tensor->type_name : std::string(format_name(part.format()));
}

}  // namespace

void Squares::add(const Squares& other) {
  error += other.error;
  weight += other.weight;
  counted_error += other.counted_error;
  counted_weight += other.counted_weight;
}

TensorWork::TensorWork(const Checkpoint& checkpoint, const PlannedTensor& tensor, ThreadPool& pool)
    : checkpoint_(checkpoint),
      tensor_(tensor),
      pool_(pool),
      rows_(tensor.source.rows()),
      cols_(tensor.source.cols()),
      out_bytes_(row_bytes(tensor.choice.format, cols_)) {
  const std::int64_t weights = kWeightsPerThread * pool.size();
  chunk_rows_ = std::clamp<std::int64_t>(weights / cols_, 1, rows_);
  encoded_.resize(to_size(chunk_rows_ * out_bytes_));
  squares_.resize(to_size(chunk_rows_));
  scratch_.resize(to_size(2 * cols_ * pool.size()));
}

void TensorWork::run(FunctionRef<void(std::span<const std::byte>)> write,
                     FunctionRef<void(std::int64_t weights)> done) {
  for (std::int64_t first = 0; first < rows_; first += chunk_rows_) {
    const std::int64_t count = std::min(chunk_rows_, rows_ - first);
    encode_rows(first, count);
    write(std::span(encoded_).first(to_size(count * out_bytes_)));
    for (std::int64_t i = 0; i < count; ++i) total_.add(at(squares_, i));
    done(count * cols_);
  }
}

TensorReport TensorWork::report() const {
  const ListedTensor& source = tensor_.source;
  TensorReport r{.name = source.name,
                 .source_type = type_of(source),
                 .format = tensor_.choice.format,
                 .wanted = tensor_.choice.wanted,
                 .bytes = static_cast<std::uint64_t>(rows_ * out_bytes_),
                 .merged = tensor_.adapter != nullptr,
                 .error = relative(total_.error, total_.weight),
                 .weighted_error = {}};
  if (!tensor_.importance.empty()) {
    r.weighted_error = relative(total_.counted_error, total_.counted_weight);
  }
  return r;
}

void TensorWork::encode_rows(std::int64_t first, std::int64_t count) {
  FirstError failure;
  pool_.parallel_for(count, [&](std::int64_t i, int thread) {
    try {
      at(squares_, i) = encode_row(first + i, thread, encoded_.data() + i * out_bytes_);
    } catch (const Error& error) {
      failure.keep(first + i, error);
    }
  });
  if (failure.error() != nullptr) fail(failure);
}

void TensorWork::fail(const FirstError& failure) const {
  const BoundPart from = source_row(tensor_.source, failure.item());
  const TensorInfo& tensor = *from.tensor;
  throw model_error(checkpoint_.file_of(tensor), cat("tensor ", printable(tensor.name)),
                    tensor.offset, cat("row ", failure.item(), ": ", failure.error()->message()));
}

Squares TensorWork::encode_row(std::int64_t row, int thread, std::byte* out) {
  const Format format = tensor_.choice.format;
  const auto cols = to_size(cols_);
  const std::span<float> x = std::span(scratch_).subspan(2 * cols * to_size(thread), cols);
  const std::span<float> y(x.data() + cols, cols);
  if (tensor_.source.parts.empty()) {
    std::copy_n(tensor_.source.values.data() + row * cols_, cols_, x.data());
  } else {
    const PartRows from = read_part(source_row(tensor_.source, row));
    if (is_copied(row, from.view.format)) {
      std::memcpy(out, from.view.row_data(0), to_size(out_bytes_));
      return {};
    }
    decode_row(from.view.format, from.view.row_data(0), cols_, x.data());
    if (tensor_.adapter != nullptr) tensor_.adapter->add(tensor_.source, row, x);
    adjust(x);
  }
  const std::span<const float> importance = importance_of(row);
  ingot::encode_row(format, x.data(), cols_, out, importance.empty() ? nullptr : importance.data());
  decode_row(format, out, cols_, y.data());
  return compare(x, y, importance);
}

/// Whether a row of the format `from` is written as it is.
bool TensorWork::is_copied(std::int64_t row, Format from) const {
  if (from != tensor_.choice.format) return false;
  if (format_info(from).dense) {
    const ListedTensor& source = tensor_.source;
    if (!tensor_.copies_rows || source.plus_one || source.factor != 1) return false;
  }
  return tensor_.adapter == nullptr || !tensor_.adapter->changes(tensor_.source, row);
}

/// Makes the file's values from the checkpoint's.
void TensorWork::adjust(std::span<float> values) const {
  const ListedTensor& source = tensor_.source;
  if (!source.plus_one && source.factor == 1) return;
  for (float& value : values) {
    if (source.plus_one) value += 1;
    value = static_cast<float>(static_cast<double>(value) * source.factor);
  }
}

/// The importance for this row's expert, or the one for all experts.
std::span<const float> TensorWork::importance_of(std::int64_t row) const {
  const auto cols = to_size(cols_);
  if (tensor_.importance.size() <= cols) return tensor_.importance;
  const auto expert = to_size(row / tensor_.source.rows_per_expert());
  return tensor_.importance.subspan(expert * cols, cols);
}

}  // namespace ingot
