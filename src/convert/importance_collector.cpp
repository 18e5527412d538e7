// Sums the squares of inputs by column, once for all tensors with a common input.
#include "convert/importance_collector.h"

#include <algorithm>

#include "base/check.h"
#include "base/index.h"
#include "model/family.h"

namespace ingot {

namespace {

/// Columns of a parallel item: four cache lines of each row.
constexpr std::int64_t kColumns = 64;

/// The names of those tensors that all GGUF files of an architecture have.
std::vector<std::string> names(const Family& family, std::initializer_list<TensorRole> roles,
                               std::int64_t layer) {
  std::vector<std::string> all;
  for (const TensorRole role : roles) {
    const RoleRule* rule = family.rule_of(role);
    if (rule == nullptr || rule->presence == Presence::kOptional) continue;
    const std::string name = family.tensor_name(role, Naming::kGguf, layer);
    if (!name.empty()) all.push_back(name);
  }
  return all;
}

}  // namespace

ImportanceCollector::Place ImportanceCollector::add_input(std::vector<std::string> tensors,
                                                          std::int64_t cols, std::size_t experts) {
  Input input{.tensors = std::move(tensors), .sums = {}};
  input.sums.cols = cols;
  input.sums.squares.resize(experts * to_size(cols));
  input.sums.rows.resize(experts);
  inputs_.push_back(std::move(input));
  return {.input = inputs_.size() - 1, .expert = 0};
}

void ImportanceCollector::watch(const Model& model) {
  const Family& family = find_family(model.spec.architecture, "model");
  const auto add = [&](const Weight& weight, std::initializer_list<TensorRole> roles,
                       std::int64_t i) {
    if (weight) places_[&weight] = add_input(names(family, roles, i), weight.cols);
  };
  const auto add_experts = [&](const std::vector<Weight>& experts,
                               std::initializer_list<TensorRole> roles, std::int64_t i) {
    if (experts.empty()) return;
    Place place = add_input(names(family, roles, i), experts.front().cols, experts.size());
    for (const Weight& weight : experts) {
      places_[&weight] = place;
      ++place.expert;
    }
  };
  for (std::size_t n = 0; n < model.layers.size(); ++n) {
    const Layer& layer = model.layers[n];
    const std::int64_t i = model.first_layer + static_cast<std::int64_t>(n);
    add(layer.qkv, {TensorRole::kQkv, TensorRole::kQ, TensorRole::kK, TensorRole::kV}, i);
    add(layer.q_down, {TensorRole::kQDown}, i);
    add(layer.q_up, {layer.q_down ? TensorRole::kQUp : TensorRole::kQ}, i);
    add(layer.kv_down, {TensorRole::kKvDown}, i);
    add(layer.attn_out, {TensorRole::kAttnOut}, i);
    add(layer.gate_up, {TensorRole::kGateUp, TensorRole::kGate, TensorRole::kUp}, i);
    add(layer.down, {TensorRole::kDown}, i);
    add(layer.shared_gate_up, {TensorRole::kSharedGate, TensorRole::kSharedUp}, i);
    add(layer.shared_down, {TensorRole::kSharedDown}, i);
    add(layer.input_gate, {TensorRole::kLayerInputGate}, i);
    add(layer.input_out, {TensorRole::kLayerInputOut}, i);
    add_experts(layer.expert_gate_up, {TensorRole::kExpertGate, TensorRole::kExpertUp}, i);
    add_experts(layer.expert_down, {TensorRole::kExpertDown}, i);
  }
  add(model.layer_projection, {TensorRole::kLayerProjection}, 0);
  const TensorRole head = model.spec.tied ? TensorRole::kEmbedding : TensorRole::kHead;
  head_ = add_input({tensor_name(head, Naming::kGguf)}, model.spec.hidden);
}

void ImportanceCollector::linear(View in, const Weight& weight) {
  const auto place = places_.find(&weight);
  if (place != places_.end()) add_rows(in, place->second);  // routers have no place: they stay F32
}

void ImportanceCollector::head(View rows) {
  INGOT_CHECK(!inputs_.empty(), "no model is watched");
  add_rows(rows, head_);
}

void ImportanceCollector::add_rows(View in, Place place) {
  InputSums& sums = inputs_[place.input].sums;
  INGOT_CHECK(in.cols == sums.cols, "rows of ", in.cols, " columns, expected ", sums.cols);
  sums.rows[place.expert] += static_cast<double>(in.rows);
  double* squares = sums.squares.data() + place.expert * to_size(sums.cols);
  pool_.parallel_for((in.cols + kColumns - 1) / kColumns, [&](std::int64_t item, int) {
    const std::int64_t first = item * kColumns;
    const std::int64_t last = std::min(first + kColumns, in.cols);
    for (std::int64_t t = 0; t < in.rows; ++t) {
      const float* x = in.row<const float>(t);
      for (std::int64_t k = first; k < last; ++k) {
        squares[k] += static_cast<double>(x[k]) * static_cast<double>(x[k]);
      }
    }
  });
}

std::vector<InputSums> ImportanceCollector::sums() const {
  std::vector<InputSums> all;
  for (const Input& input : inputs_) {
    const auto& rows = input.sums.rows;
    if (std::all_of(rows.begin(), rows.end(), [](double n) { return n == 0; })) continue;
    for (const std::string& tensor : input.tensors) {
      all.push_back(input.sums);
      all.back().tensor = tensor;
    }
  }
  return all;
}

}  // namespace ingot
