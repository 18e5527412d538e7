// Draws adapters: parts of weights, ranks, formats and factors.
#include "support/random_adapter.h"

#include <cmath>
#include <random>

#include "base/index.h"
#include "quant/formats.h"

namespace ingot::testing_support {

namespace {

/// Draws one adapter. Numbers do not depend on the backend.
class AdapterDraw {
 public:
  AdapterDraw(const Model& model, Backend& backend, std::uint64_t seed)
      : model_(model), backend_(backend), rng_(seed) {}

  std::shared_ptr<const AdapterWeights> draw() {
    for (const Layer& layer : model_.layers) change_layer(layer);
    if (model_.own_head) change(model_.own_head);
    if (model_.spec.tied && model_.embedding && model_.has_head) change(model_.embedding);
    if (model_.embedding && below(2) == 0) change_embedding();
    return std::make_shared<const AdapterWeights>(std::move(weights_));
  }

 private:
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(rng_() % static_cast<std::uint64_t>(n));
  }
  float normal(float scale) {
    float sum = 0;
    for (int i = 0; i < 4; ++i) sum += static_cast<float>(rng_() >> 40) * 0x1p-23f - 1.0f;
    return scale * sum;
  }

  /// A random matrix in one of the formats of adapter files.
  Weight matrix(std::int64_t rows, std::int64_t cols, float scale) {
    std::vector<float> values(to_size(rows * cols));
    for (float& v : values) v = normal(scale);
    const Format formats[] = {F32::kFormat, F16::kFormat, BF16::kFormat};
    const Format format = formats[below(3)];
    std::vector<std::byte> bytes;
    visit_format(format, [&]<class F>() {
      if constexpr (DenseFormat<F>) {
        bytes.resize(values.size() * sizeof(typename F::Element));
        for (std::size_t i = 0; i < values.size(); ++i) {
          const auto element = F::narrow(values[i]);
          __builtin_memcpy(bytes.data() + i * sizeof element, &element, sizeof element);
        }
      }
    });
    const View view{bytes.data(), format, rows, cols, std::ssize(bytes) / rows};
    return backend_.prepare({&view, 1}, {}, Use::kPlain);
  }

  AdapterPart part(std::int64_t first_row, std::int64_t rows, std::int64_t first_rank,
                   std::int64_t rank) {
    return {.first_row = first_row,
            .first_rank = first_rank,
            .scale = 0.25f + 0.25f * static_cast<float>(below(4)),
            .b = matrix(rows, rank, 0.3f)};
  }

  /// Changes all rows of a weight, or two slices, or nothing.
  void change(const Weight& w) {
    const std::int64_t kind = below(5);
    if (kind == 0) return;
    weights_.places.resize(std::max(weights_.places.size(), to_size(w.number) + 1), -1);
    at(weights_.places, w.number) = static_cast<std::int32_t>(weights_.linears.size());
    AdapterLinear& linear = weights_.linears.emplace_back();
    const std::int64_t rank = 1 + below(9);
    const float scale = 1 / std::sqrt(static_cast<float>(w.cols));
    if (kind < 4 || w.rows < 2) {
      linear.parts.push_back(part(0, w.rows, 0, rank));
      linear.a = matrix(rank, w.cols, scale);
      return;
    }
    const std::int64_t cut = 1 + below(w.rows - 1);
    linear.parts.push_back(part(0, cut, 0, rank));
    linear.parts.push_back(part(cut, w.rows - cut, rank, 3));
    linear.a = matrix(rank + 3, w.cols, scale);
  }

  void change_layer(const Layer& layer) {
    for (const Weight* w : {&layer.qkv, &layer.q_down, &layer.q_up, &layer.kv_down, &layer.attn_out,
                            &layer.gate_up, &layer.down, &layer.shared_gate_up, &layer.shared_down,
                            &layer.input_gate, &layer.input_out}) {
      if (*w) change(*w);
    }
    for (const auto* experts : {&layer.expert_gate_up, &layer.expert_down}) {
      for (const Weight& w : *experts) change(w);
    }
  }

  void change_embedding() {
    const std::int64_t rank = 1 + below(5);
    weights_.embedding = {.number = model_.embedding.number,
                          .a = matrix(model_.embedding.rows, rank, 0.5f),
                          .part = part(0, model_.embedding.cols, 0, rank)};
  }

  const Model& model_;
  Backend& backend_;
  std::mt19937_64 rng_;
  AdapterWeights weights_;
};

}  // namespace

std::vector<std::shared_ptr<const AdapterList>> random_adapters(const Model& model,
                                                                Backend& backend, int count,
                                                                std::uint64_t seed,
                                                                std::uint64_t first) {
  std::vector<std::shared_ptr<const AdapterList>> lists;
  const auto add = [&](AdapterList&& list) {
    list.number = first + lists.size();
    lists.push_back(std::make_shared<const AdapterList>(std::move(list)));
  };
  for (int i = 0; i < count; ++i) {
    const auto weights =
        AdapterDraw(model, backend, seed * 31 + static_cast<std::uint64_t>(i)).draw();
    add({.uses = {{.weights = weights.get()}}, .owners = {weights}});
  }
  if (count < 2) return lists;
  add({.uses = {{.weights = lists[1]->uses[0].weights, .scale = 0.5f},
                {.weights = lists[0]->uses[0].weights, .scale = -1.5f}},
       .owners = {lists[1], lists[0]}});
  return lists;
}

}  // namespace ingot::testing_support
