// What adapters add to a model's weights when the engine loads them, as dense matrices. For tests.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "base/index.h"
#include "model/adapter.h"
#include "model/model.h"
#include "model/weight_list.h"
#include "quant/formats.h"
#include "support/stub_backend.h"

namespace ingot::testing_support {

using Values = std::vector<double>;

/// Keeps weights as rows of floats, and counts the bytes that it packs.
class FloatBackend final : public StubBackend {
 public:
  std::int64_t packed_bytes = 0;

  Buffer allocate(std::int64_t bytes) override { return allocate_host(bytes); }
  std::int64_t prepared_bytes(std::span<const View> parts, bool, Use) const override {
    std::int64_t bytes = 0;
    for (const View& part : parts) bytes += part.rows * part.cols * std::int64_t{sizeof(float)};
    return bytes;
  }
  Weight prepare(std::span<const View> parts, std::span<const float>, Use) override {
    Weight w;
    w.cols = parts.front().cols;
    w.storage = allocate_host(prepared_bytes(parts, false, Use::kAdapter));
    packed_bytes += prepared_bytes(parts, false, Use::kAdapter);
    for (const View& part : parts) {
      EXPECT_EQ(part.cols, w.cols);
      for (std::int64_t r = 0; r < part.rows; ++r, ++w.rows) {
        decode_row(part.format, part.row_data(r), part.cols, row(w, w.rows));
      }
    }
    return w;
  }
  static float* row(const Weight& w, std::int64_t r) {
    return reinterpret_cast<float*>(w.storage.data()) + r * w.cols;
  }
};

/// A bound checkpoint and its targets.
struct Base {
  explicit Base(std::unique_ptr<Checkpoint> c)
      : checkpoint(std::move(c)),
        bound(bind_model(*checkpoint)),
        targets(bound, checkpoint->config().naming, {}) {}

  std::unique_ptr<Checkpoint> checkpoint;
  BoundModel bound;
  AdapterTargets targets;
};

inline std::int64_t rows_of(const BoundWeight& w) {
  return std::accumulate(w.parts.begin(), w.parts.end(), std::int64_t{0},
                         [](std::int64_t rows, const BoundPart& part) { return rows + part.rows; });
}

/// What an adapter adds to each weight, as dense matrices by number.
using Deltas = std::map<std::int32_t, Values>;

inline Deltas deltas_of(const Adapter& adapter, const Base& base) {
  Deltas all;
  const auto weights = all_weights(base.bound, {});
  for (std::size_t number = 0; number < weights.size(); ++number) {
    Weight numbered;
    numbered.number = static_cast<std::int32_t>(number);
    const AdapterLinear* linear = adapter.weights.find(numbered);
    if (linear == nullptr) continue;
    const std::int64_t cols = linear->a.cols;
    EXPECT_EQ(cols, weights[number]->parts.front().cols);
    Values& delta = all[numbered.number];
    delta.resize(to_size(rows_of(*weights[number]) * cols));
    for (const AdapterPart& part : linear->parts) {
      for (std::int64_t i = 0; i < part.b.rows; ++i) {
        for (std::int64_t r = 0; r < part.b.cols; ++r) {
          const double factor = static_cast<double>(part.scale) *
                                static_cast<double>(FloatBackend::row(part.b, i)[r]);
          const float* a = FloatBackend::row(linear->a, part.first_rank + r);
          for (std::int64_t j = 0; j < cols; ++j) {
            at(delta, (part.first_row + i) * cols + j) += factor * static_cast<double>(a[j]);
          }
        }
      }
    }
  }
  return all;
}

inline Deltas loaded_deltas(const AdapterFile& file, const Base& base) {
  FloatBackend backend;
  const auto adapter = load_adapter(file, base.targets, backend);
  EXPECT_EQ(adapter->bytes, backend.packed_bytes);
  return deltas_of(*adapter, base);
}

}  // namespace ingot::testing_support
